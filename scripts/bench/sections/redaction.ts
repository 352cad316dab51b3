// Redaction of one version, purged, near the head and near the beginning of a long history, beside
// git filter-repo, which takes the same blob out of the same repository.

import { readFileSync } from 'node:fs'
import type { Version } from 'gitlocket'
import {
  blobOf,
  checkFilterRepo,
  checkGone,
  checkSound,
  filterRepo,
  stripBlob,
} from '../contenders/git-rewrite.ts'
import { reasonOf } from '../lane.ts'
import { atMost, type Bound, type Section, type Table, unmeasured } from '../report.ts'
import { besideStore, replacedVersions, type Site, withCopy } from '../site.ts'
import { bytes, digits, milliseconds, ratio, summarize, type Summary } from '../statistics.ts'
import { memoryBound, runTask } from '../task.ts'

/** × the peer, near the head and near the beginning. */
const ratiosMax = [1 / 8, 1 / 3]

/** One version's redaction, by us and by the peer. */
interface Comparison {
  /** `10,000 commits back` */
  readonly where: string
  readonly call: Summary
  readonly whole: Summary
  readonly rssMax: number
  /** Objects that were erased. */
  readonly erased: number
  readonly peer: Peer
}

/** Milliseconds, or why there is no such number. */
type Peer = { readonly elapsed: number } | { readonly reason: string }

export async function measureRedaction(site: Site): Promise<Section> {
  const { commits, recent } = site.context.scale
  const distances = [recent, commits - recent]
  const versions = await replacedVersions(site, distances)
  const compared: Comparison[] = []
  for (const [index, version] of versions.entries()) {
    const where = `${digits(distances[index] ?? 0)} commits back`
    site.context.log(`redaction ${where}, and ${filterRepo}`)
    compared.push(await compare(site, version, where))
  }
  return {
    gains: compared
      .slice(0, 1)
      .flatMap(({ call, peer }) =>
        'reason' in peer
          ? []
          : [{ peer: filterRepo, subject: 'a redaction', times: peer.elapsed / call.median }],
      ),
    bounds: [
      ...compared.map((each, index) => boundOf(each, ratiosMax[index] ?? 1)),
      ...compared.map(({ where, rssMax }) => memoryBound(`redaction ${where}`, rssMax)),
    ],
    tables: [table(site.size, compared)],
  }
}

async function compare(site: Site, version: Version, where: string): Promise<Comparison> {
  const calls: number[] = []
  const wholes: number[] = []
  let rssMax = 0
  let erased = 0
  for (let count = 0; count < site.context.scale.rewrites; count += 1) {
    const answer = await withCopy(site, (copy) => redact(copy, version, count === 0))
    calls.push(answer.work)
    wholes.push(answer.whole)
    rssMax = Math.max(rssMax, answer.rssMax)
    erased = answer.done
  }
  const peer = await measurePeer(site, version)
  return { where, call: summarize(calls), whole: summarize(wholes), rssMax, erased, peer }
}

/** Asks stock git once whether the objects are gone and the rest is whole; that is not timed. */
function redact(copy: Site, { versionId }: Version, check: boolean): ReturnType<typeof runTask> {
  const { directory } = copy.history.places
  const objectsFile = besideStore(copy, 'erased')
  const task = { type: 'redact', versionId, objectsFile } as const
  const answer = runTask(copy.history.places, copy.identityFile, task)
  if (check) {
    checkGone(directory, readFileSync(objectsFile, 'utf8'))
    checkSound(directory)
  }
  return answer
}

async function measurePeer(site: Site, { commit }: Version): Promise<Peer> {
  try {
    checkFilterRepo()
  } catch (error) {
    return { reason: reasonOf(error) }
  }
  const blob = blobOf(site.history.places.directory, commit)
  const elapsed = await withCopy(site, (copy) =>
    stripBlob(copy.history.places.directory, blob, besideStore(copy, 'blobs')),
  )
  return { elapsed }
}

function boundOf({ where, call, peer }: Comparison, ratioMax: number): Bound {
  const subject = `redaction ${where}, purged, × ${filterRepo} with its gc`
  if ('reason' in peer) return unmeasured(subject, `≤ ${ratio(ratioMax)}`, peer.reason)
  return atMost(subject, call.median / peer.elapsed, ratioMax, ratio)
}

function table(size: string, compared: readonly Comparison[]): Table {
  return {
    title: `Redaction of one version, purged, ${size}`,
    columns: ['', `× ${filterRepo}`, 'median', 'memory', 'n'],
    rows: compared.flatMap(rowsOf),
    plot: {
      name: 'redaction',
      title: 'Redaction of one version, median, ms',
      bars: compared.flatMap(({ where, call, peer }) => [
        { label: where, value: call.median, ours: true },
        {
          label: `${filterRepo}, ${where}`,
          value: 'elapsed' in peer ? peer.elapsed : Number.NaN,
        },
      ]),
      format: milliseconds,
    },
    notes: [
      'The call: `me.redact` of one version on an open store whose history is in RAM, until ' +
        'it resolves: the history is rewritten; packs, journal and caches hold no trace of the ' +
        'version. The whole process: Node starts, the store opens with warm caches, the ' +
        'history is loaded, the call, the caches are written again, the store closes. Each on a ' +
        'copy of its own. Afterwards, not timed, stock git must not find any of ' +
        `${compared.map(({ erased }) => digits(erased)).join(' and ')} erased objects, and ` +
        '`git fsck --strict` nothing to say.',
      `${filterRepo} takes the same blob out of a copy of the same repository with ` +
        '`--strip-blobs-with-ids`, its own expiry of reflogs and `git gc --prune=now` included. ' +
        'It rewrites all commits wherever the blob is, drops every signature, and changes no ' +
        'record; its processes are not asked for their memory.',
    ],
  }
}

function rowsOf({ where, call, whole, rssMax, peer }: Comparison): (readonly string[])[] {
  const base = 'elapsed' in peer ? peer.elapsed : Number.NaN
  const ours = (what: string, { median, n }: Summary): readonly string[] => [
    `${where}: ${what}`,
    ratio(median / base),
    milliseconds(median),
    bytes(rssMax),
    digits(n),
  ]
  const theirs =
    'elapsed' in peer ? [ratio(1), milliseconds(peer.elapsed), '', '1'] : [peer.reason, '', '', '0']
  return [
    ours('the call', call),
    ours('the whole process', whole),
    [`${where}: ${filterRepo}`, ...theirs],
  ]
}
