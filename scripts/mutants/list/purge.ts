// Erasing from the disk what a redaction has condemned.

import type { MutatedFile } from '../mutant.ts'

export const purge: readonly MutatedFile[] = [
  {
    file: 'git/disk-store/disk-object-store.ts',
    mutants: [
      {
        line: `// A pack that a cancelled intent names must not be reused for this commit.
      await this.#settleIntents()`,
        becomes: '',
        test: 'fault/object-store-purge.test.ts',
        name: 'what a full disk refused can be done again in the same turn',
      },
    ],
  },
  {
    file: 'git/pack/pack-filter.ts',
    mutants: [
      {
        line: 'if (deadEntries.count === 0) return',
        becomes: 'return',
        test: 'unit/git/pack-filter.test.ts',
        name: 'a pack made by us without one in a hundred',
      },
      {
        line: 'return erased ? this.#reencoded(rank, newStart, undefined) : undefined',
        becomes: 'return undefined',
        test: 'unit/git/pack-filter.test.ts',
        name: 'a pack made by git, with oids of bases without every third',
      },
      {
        line: 'if (Number.isNaN(moved)) return this.#reencoded(rank, newStart, base)',
        becomes: '',
        test: 'unit/git/pack-filter.test.ts',
        name: 'a pack made by us without one in a hundred',
      },
      {
        line: 'if (newStart - moved === distance) return undefined',
        becomes: 'return undefined',
        test: 'unit/git/pack-filter.test.ts',
        name: 'a pack made by us without one in a hundred',
      },
      {
        line: `  await removePacks(disk, directory, [name])
`,
        becomes: '',
        test: 'unit/git/pack-filter.test.ts',
        name: 'a pack made by us without one in a hundred',
      },
    ],
  },
  {
    file: 'git/pack/pack-referrers.ts',
    mutants: [
      {
        line: 'return this.#blobs[base] === 1',
        becomes: 'return true',
        test: 'unit/git/pack-referrers.test.ts',
        name: 'objects packed by us of which one is named by another',
      },
      {
        line: `if (hasCode(error, 'pack_corrupt')) return true`,
        becomes: `if (hasCode(error, 'pack_corrupt')) return false`,
        test: 'unit/git/pack-referrers.test.ts',
        name: 'a damaged object may name anything: in a pack',
      },
    ],
  },
  {
    file: 'git/purge/purge-intent.ts',
    mutants: [
      {
        line: 'if (!equalBytes(sha256(coded), bytes.subarray(coded.length))) throw damaged()',
        becomes: '',
        test: 'attack/redaction-purge.test.ts',
        name: 'is damaged is refused, and nothing is lost journal_corrupt: a bit of its head',
      },
      {
        line: 'const isOwn = secret !== undefined && equalBytes(codeOf(secret, body), code)',
        becomes: 'const isOwn = secret !== undefined',
        test: 'attack/planted-purges.test.ts',
        name: 'without the code of this device erases no live memory, and is reported',
      },
      {
        line: 'if (reader.remaining > 0 || !dead.isAscending()) throw damaged()',
        becomes: 'if (reader.remaining > 0) throw damaged()',
        test: 'unit/git/purge-intent.test.ts',
        name: 'an intent is refused with dead objects out of order',
      },
      {
        line: 'if (oid === intent.expected || intent.dead.hasOid(oid)) isBefore = true',
        becomes: 'if (oid === intent.expected) isBefore = true',
        test: 'unit/git/purge-intent.test.ts',
        name: 'fate of an intent with the head before its start, but inside of what it erases',
      },
      {
        line: `return isBefore ? 'absent' : undefined`,
        becomes: `return 'absent'`,
        test: 'unit/git/purge-intent.test.ts',
        name: 'the fate of an intent with the head before anything that it erases',
      },
      {
        line: 'if (intent.dead.hasOid(earlier.next)) setCommitted(fates, earlier, intents)',
        becomes: '',
        test: 'unit/git/purge-intent.test.ts',
        name: 'the fate of an intent follows from a later one that erased its outcome',
      },
    ],
  },
  {
    file: 'git/purge/purge-intents.ts',
    mutants: [
      {
        line: 'if (head === intent.expected) await removePacks(disk, packDirectory, intent.packs)',
        becomes: '',
        test: 'fault/object-store-purge.test.ts',
        name: 'the device has outlives a power failure after another process has cancelled it',
      },
      {
        line: `      await this.#parts.fenceJournal()
`,
        becomes: '',
        test: 'fault/object-store-purge.test.ts',
        name: 'a frame that only the device has outlives a power failure at once',
      },
      {
        line: `return intents.filter((intent) => fates.get(intent) === 'committed')`,
        becomes: 'return intents',
        test: 'unit/git/purge.test.ts',
        name: 'the purge leaves what is committed while a checkpoint packs to the next one',
      },
      {
        line: 'if (head === intent.expected) await removePacks(disk,',
        becomes: 'await removePacks(disk,',
        test: 'unit/git/purge-intent.test.ts',
        name: 'packs are kept, at a head to which another program has moved the branch',
      },
      {
        line: `'absent' && !committed.has(intent.name)`,
        becomes: `'absent'`,
        test: 'unit/git/purge-intent.test.ts',
        name: 'keep what was committed once, though another program moves the branch back',
      },
    ],
  },
  {
    file: 'git/maintenance/pack-job.ts',
    mutants: [
      {
        line: `    checkUnreached(disk, job, dead)
`,
        becomes: '',
        test: 'attack/planted-purges.test.ts',
        name: 'a list of this device that names what the head reaches journal_corrupt: a blob',
      },
    ],
  },
  {
    file: 'git/purge/purge.ts',
    mutants: [
      {
        line: `    if (heads.some((oid) => dead.hasOid(oid))) throw reachedByHistory()
`,
        becomes: '',
        test: 'unit/git/purge.test.ts',
        name: 'the purge erases no head of the branch, though a list of this device names it',
      },
      {
        line: ', ...journal.named()]',
        becomes: ']',
        test: 'unit/git/purge.test.ts',
        name: 'the purge erases nothing that is committed while a checkpoint packs',
      },
      {
        line: `    sweep.empty(\`\${ownDirectory}/cache\`)
`,
        becomes: '',
        test: 'interop/purge.test.ts',
        name: `erasing after stock git has left 'what died while it wrote'`,
      },
      {
        line: `    await intents.remove(due)
`,
        becomes: '',
        test: 'fault/object-store-purge.test.ts',
        name: `what erases, t…' survives a death, 'torn', at each operation, losing 'nothing'`,
      },
      {
        line: `    await packer.filter(dead, heads)
`,
        becomes: '',
        test: 'fault/object-store-purge.test.ts',
        name: `what erases, t…' survives a death, 'torn', at each operation, losing 'nothing'`,
      },
      {
        line: `    sweepFiles(disk, directory, { sweep, dead })
`,
        becomes: '',
        test: 'interop/purge.test.ts',
        name: `erasing after stock git has left 'gc with deltas between everything'`,
      },
      {
        line: `    await sweepRefs(files, { sweep, isErased, isMissing: (oid) => !has(oid) })
`,
        becomes: '',
        test: 'interop/purge.test.ts',
        name: `erasing after stock git has left 'branches and notes, loose and packed'`,
      },
      {
        line: 'return at === undefined ? [] : chain',
        becomes: 'return []',
        test: 'interop/purge.test.ts',
        name: `erasing after stock git has left 'tags, loose and packed, and a tag of …'`,
      },
    ],
  },
  {
    file: 'git/purge/purge-refs.ts',
    mutants: [
      {
        line: 'if (target && removed.has(target)) removed.add(name)',
        becomes: 'continue',
        test: 'interop/purge.test.ts',
        name: `erasing after stock git has left 'branches and notes, loose and packed'`,
      },
      {
        line: 'if (oids.some(isErased)) sweep.removeKnown(`${directory}/${name}`)',
        becomes: '',
        test: 'interop/purge.test.ts',
        name: `erasing after stock git has left 'ORIG_HEAD and FETCH_HEAD'`,
      },
    ],
  },
]
