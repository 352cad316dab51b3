// Damaged objects of a remote. At a path they are mended in place: git refuses to replace an object
// that is there, so that no push can do it. Sound copies are added from this store, and only then
// the damaged files moved aside, which are not deleted. What is merely missing a push brings. What
// is damaged elsewhere only who runs the host can remove: git there takes a push and says nothing,
// so that everything is fetched once to see whether it is needed.

import { systemDisk } from '../../disk/disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { findLinks, type GitObject, type Oid } from '../../git/objects/object.ts'
import { RepairSite } from '../../git/repair/repair-site.ts'
import { damageOf, type RepositorySurvey } from '../../git/repair/repository-survey.ts'
import { parseRemoteUrl } from '../../transport/remote-url.ts'
import type { StoreSession } from '../session/session.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { fetchInto } from './clone-remote.ts'
import type { SyncOptions } from './options.ts'
import { reachOf } from './reach.ts'

/** Nothing for a remote elsewhere, or one that is sound. Throws `locked` or a storage code. */
export async function mendRemote(
  session: StoreSession,
  url: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const site = siteAt(session, url)
  if (site === undefined || isSound(site)) return
  await site.hold(async () => {
    const survey = site.survey()
    try {
      const objects = new BothSides(survey, session.objects)
      const heads = survey.branches.filter((oid) => isCommit(objects.read(oid)))
      const oids = new Set(survey.readableInDamaged())
      for (const head of heads) {
        for (const oid of (await reachOf(objects, head, signal)).oids) oids.add(oid)
      }
      await site.addObjects(objects.lacking(oids))
      await site.addIndexes(survey)
      await site.moveDamagedAside(survey)
    } finally {
      survey.close()
    }
  })
}

/**
 * After a push that has sent everything. Throws `object_corrupt` if a host that no path leads to
 * still does not give all of it back.
 */
export async function checkMended(
  session: StoreSession,
  url: string,
  { access, transfer, signal }: Pick<SyncOptions, 'access' | 'transfer' | 'signal'>,
): Promise<void> {
  if (isPath(url)) return
  await session.local.withScratch(async (disk, directory) => {
    try {
      const how = { url, access, transfer, signal, disk }
      await fetchInto(directory, how, async () => undefined)
    } catch (error) {
      if (!hasCode(error, 'remote_protocol', 'pack_refused')) throw error
      throw new StoreError(
        'object_corrupt',
        'The remote has all objects, but some are damaged there, and git replaces none: delete ' +
          'those that `git fsck` there names, a damaged pack with its index, and repair it ' +
          'again; or push to a new repository',
        { cause: error },
      )
    }
  })
}

function isPath(url: string): boolean {
  return parseRemoteUrl(url, { allowHttp: true }).kind === 'file'
}

/** Asked without a lock: the files of one would be the first that is ours in there. */
function isSound(site: RepairSite): boolean {
  const survey = site.survey()
  survey.close()
  return damageOf(survey).length === 0
}

/** Undefined for what is not reached by a path, and for a repository of another kind. */
function siteAt(session: StoreSession, url: string): RepairSite | undefined {
  const address = parseRemoteUrl(url, { allowHttp: true })
  if (address.kind !== 'file') return undefined
  try {
    return new RepairSite(systemDisk, address.path, session.random)
  } catch (error) {
    // What is wrong with it the conversation finds out.
    if (hasCode(error, 'not_a_store', 'unsupported_repository', 'incomplete_clone'))
      return undefined
    throw error
  }
}

/** An object is what its name says, so it does not matter which side has it. */
class BothSides implements ObjectSource {
  readonly #survey: RepositorySurvey
  readonly #ours: ObjectSource

  constructor(survey: RepositorySurvey, ours: ObjectSource) {
    this.#survey = survey
    this.#ours = ours
  }

  read(oid: Oid): GitObject | undefined {
    return this.#survey.read(oid) ?? this.#ours.read(oid)
  }

  *lacking(oids: Iterable<Oid>): Generator<{ readonly oid: Oid } & GitObject> {
    for (const oid of oids) {
      if (this.#survey.readStaying(oid) !== undefined) continue
      const object = this.read(oid)
      if (object !== undefined) yield { oid, ...object }
    }
  }
}

function isCommit(object: GitObject | undefined): boolean {
  return object?.type === 'commit' && findLinks(object.body) !== undefined
}
