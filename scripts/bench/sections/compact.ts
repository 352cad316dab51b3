// `compact` of a store with a long history beside what git's own garbage collection makes of it.

import { join } from 'node:path'
import { checkSound, collectGarbage } from '../contenders/git-rewrite.ts'
import { sizeOf } from '../long-history.ts'
import type { Section, Table } from '../report.ts'
import { makeSite, type Site, withCopy } from '../site.ts'
import { bytes, digits, percent } from '../statistics.ts'
import { memoryBound, runTask } from '../task.ts'

interface Packed {
  readonly what: string
  readonly elapsed: number
  /** Of all that is below `objects`. */
  readonly size: number
  readonly rssMax?: number
}

export async function measureCompact(site: Site): Promise<Section> {
  const { context } = site
  const large = await packBy(site, [compact, collect])
  const smallSite = await makeSite(context, 'small', context.scale.small)
  const small = await packBy(smallSite, [compact, collect, collectAggressively])
  return {
    bounds: [memoryBound('compact', large[0]?.rssMax ?? Number.NaN)],
    tables: [
      table(site, large, [
        'All objects and their indexes, as the store itself had merged its packs before. ' +
          '`store.maintenance.compact` drops nothing; git runs on copies of the repository, with ' +
          'its own level of compression. Most of it is ciphertext and signatures, which nothing ' +
          'makes smaller.',
      ]),
      table(smallSite, small, [
        'A smaller history, since `git gc --aggressive` needs many minutes for the large one.',
      ]),
    ],
  }
}

/** Each on a copy of its own. */
async function packBy(
  site: Site,
  ways: readonly ((copy: Site) => Packed | Promise<Packed>)[],
): Promise<readonly Packed[]> {
  site.context.log(`compact, and the garbage collection of git, ${site.size}`)
  const packed: Packed[] = []
  for (const way of ways) packed.push(await withCopy(site, way))
  return packed
}

function table(site: Site, packed: readonly Packed[], notes: readonly string[]): Table {
  const before = objectBytes(site)
  const rows = packed.map(({ what, elapsed, size, rssMax }) => [
    what,
    digits(elapsed / 1000),
    bytes(size),
    percent(size / before),
    rssMax === undefined ? '' : bytes(rssMax),
  ])
  return {
    title: `Repack ${site.size}`,
    columns: ['', 'seconds', 'bytes', 'of before', 'memory'],
    rows: [['before', '', bytes(before), percent(1), ''], ...rows],
    notes,
  }
}

function compact(copy: Site): Packed {
  const { places } = copy.history
  const { work, rssMax } = runTask(places, copy.identityFile, { type: 'compact' })
  checkSound(places.directory)
  return { what: 'gitlocket compact', elapsed: work, size: objectBytes(copy), rssMax }
}

async function collect(copy: Site): Promise<Packed> {
  const elapsed = await collectGarbage(copy.history.places.directory, false)
  return { what: 'git gc --prune=now', elapsed, size: objectBytes(copy) }
}

async function collectAggressively(copy: Site): Promise<Packed> {
  const elapsed = await collectGarbage(copy.history.places.directory, true)
  return { what: 'git gc --aggressive --prune=now', elapsed, size: objectBytes(copy) }
}

function objectBytes({ history }: Site): number {
  return sizeOf(join(history.places.directory, 'objects'))
}
