// Repairs damaged objects of a remote; a push restores those that are merely missing. At a path it
// works in place, since git never replaces an object: adds sound copies from this store, then moves
// the damaged files aside, deleting none. On a host only its administrator can remove them: git
// there accepts a push silently, so that a full fetch has to show whether any are left.

import { systemDisk } from '../../disk/disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { findLinks, type GitObject, type Oid } from '../../git/objects/object.ts'
import { RepairSite } from '../../git/repair/repair-site.ts'
import { damageOf, type RepositorySurvey } from '../../git/repair/repository-survey.ts'
import { parseRemoteUrl } from '../../transport/remote-url.ts'
import { journalSecretOf } from '../local/sealed-cache.ts'
import type { StoreSession } from '../session/session.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { fetchInto } from './clone-remote.ts'
import type { SyncOptions } from './options.ts'
import { reachOf } from './reach.ts'

/** Does nothing for a remote on a host, or a sound one. Throws `locked` or a storage code. */
export async function mendRemote(
  session: StoreSession,
  url: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const site = siteAt(session, url)
  if (site === undefined || (await isSound(site, signal))) return
  await site.hold(async () => {
    const survey = await site.survey(signal)
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
 * Fetches everything from a remote on a host after a push of all objects. Throws `object_corrupt`
 * if some of them are still damaged there.
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
        'The remote has all objects, but some are damaged there, and git never replaces an ' +
          'object: delete those that `git fsck` reports there, a damaged pack with its index, ' +
          'and repair it again; or push to a new repository',
        { cause: error },
      )
    }
  })
}

function isPath(url: string): boolean {
  return parseRemoteUrl(url, { allowHttp: true }).kind === 'file'
}

/** Takes no lock: its file would be the first that this store writes into a sound remote. */
async function isSound(site: RepairSite, signal: AbortSignal | undefined): Promise<boolean> {
  const survey = await site.survey(signal)
  survey.close()
  return damageOf(survey).length === 0
}

/** Undefined for a remote that is not at a path, and for a repository of another kind. */
function siteAt(session: StoreSession, url: string): RepairSite | undefined {
  const address = parseRemoteUrl(url, { allowHttp: true })
  if (address.kind !== 'file') return undefined
  try {
    const secret = journalSecretOf(session.identity)
    return new RepairSite(systemDisk, address.path, session.random, secret)
  } catch (error) {
    // The fetch or push reports what is wrong with it.
    if (hasCode(error, 'not_a_store', 'unsupported_repository', 'incomplete_clone'))
      return undefined
    throw error
  }
}

/** Reads objects of either repository: an object matches its id, whichever of them has it. */
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
