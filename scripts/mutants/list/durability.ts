// Every sync in git/ and store/, left out alone. A law of test/tidy.test.ts keeps it complete.

import type { MutatedFile } from '../mutant.ts'

const syncs = 'fault/syncs.test.ts'
const journal = 'fault/journal-syncs.test.ts'

export const durability: readonly MutatedFile[] = [
  {
    file: 'git/maintenance/checkpoint.ts',
    mutants: [
      {
        line: 'await files.disk.syncDirectory(`${files.directory}/refs/heads`)',
        becomes: '',
        test: syncs,
        name: 'the branch that a process moved before it died',
      },
    ],
  },
  {
    file: 'git/disk-store/disk-incoming.ts',
    mutants: [
      {
        line: 'await this.#disk.syncDirectory(directory)',
        becomes: '',
        test: syncs,
        name: 'what came from a remote, and where the remote was',
      },
    ],
  },
  {
    file: 'git/maintenance/loose-packing.ts',
    mutants: [
      {
        line: 'await sweep.sync()',
        becomes: '',
        test: syncs,
        name: 'that what was erased is gone, where it was a loose object before a repack',
      },
    ],
  },
  {
    file: 'disk/disk.ts',
    mutants: [
      {
        line: 'disk.write(fd, bytes, 0)\n    await disk.sync(fd)',
        becomes: 'disk.write(fd, bytes, 0)',
        test: syncs,
        name: 'a new store, and what is committed to it',
      },
      {
        line: 'await disk.syncDirectory(dirname(path))',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is committed to it',
      },
      {
        line: 'for (const parent of parents) await syncIfReadable(disk, parent)',
        becomes: '',
        test: syncs,
        name: 'the anchor, in directories that are new',
      },
      {
        line: '    await disk.syncDirectory(directory)\n',
        becomes: '',
        test: syncs,
        name: 'the anchor, in directories that are new',
      },
    ],
  },
  {
    file: 'git/disk-store/disk-object-store.ts',
    mutants: [
      {
        line: 'fenceJournal: () => this.#journal.scrub()',
        becomes: 'fenceJournal: async () => {}',
        test: 'fault/object-store-purge.test.ts',
        name: 'a frame that only the device has outlives a power failure at once',
      },
    ],
  },
  {
    file: 'disk/file-sweep.ts',
    mutants: [
      {
        line: 'await this.#disk.syncDirectory(directory)',
        becomes: '',
        test: syncs,
        name: 'that what was erased is gone, in every file',
      },
    ],
  },
  {
    file: 'git/refs/git-file-lock.ts',
    mutants: [
      {
        line: "await disk.syncDirectory(target.slice(0, target.lastIndexOf('/')))",
        becomes: '',
        test: syncs,
        name: 'a new store, and what is packed in it',
      },
      {
        line: 'await disk.sync(fd)',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is packed in it',
      },
    ],
  },
  {
    file: 'git/pack/incoming-pack.ts',
    mutants: [
      {
        line: 'await this.#disk.sync(this.#fd)',
        becomes: '',
        test: syncs,
        name: 'what came from a remote, and where the remote was',
      },
    ],
  },
  {
    file: 'git/journal/journal-file.ts',
    mutants: [
      {
        line: 'concatBytes(bytes, rest), 0)\n    await this.#disk.sync(fd)',
        becomes: 'concatBytes(bytes, rest), 0)',
        test: journal,
        name: 'frames that were packed do not come back once the branch has moved on',
      },
      {
        line: 'if (this.#durable < sectorBytes) await this.harden()',
        becomes: '',
        test: journal,
        name: 'the first batch of a dead process is durable before another follows it',
      },
      {
        line: "if (this.#rest !== 'zeros') await this.scrub()",
        becomes: '',
        test: journal,
        name: 'what is left of a write that did not end does not follow a later one',
      },
      {
        line: 'this.#end - this.#durable), this.#durable)\n    await this.#disk.sync(fd)',
        becomes: 'this.#end - this.#durable), this.#durable)',
        test: journal,
        name: 'frames of a dead process are durable before a pack and the branch name them',
      },
      {
        line: "await this.#disk.sync(fd)\n    this.#rest = 'zeros'",
        becomes: "this.#rest = 'zeros'",
        test: syncs,
        name: 'that what was erased is gone, where a process died as it emptied the journal',
      },
      {
        line: 'if (this.#fd !== undefined) await this.#disk.sync(this.#fd)',
        becomes: '',
        test: syncs,
        name: 'that the journal of a closed store is empty: stock git may move the branch',
      },
      {
        line: 'await this.#pace.sync(fd, bytes.length)',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is committed to it',
      },
      {
        line: 'new Uint8Array(length), this.#end)\n      await this.#disk.sync(fd)',
        becomes: 'new Uint8Array(length), this.#end)',
        test: journal,
        name: 'a commit that failed stays away, even if its bytes had reached the device',
      },
      {
        line: 'this.#writeZeros(fd, size, end)\n      await this.#disk.sync(fd)',
        becomes: 'this.#writeZeros(fd, size, end)',
        test: journal,
        name: 'a write that does not end finds its space there, and cuts nothing off',
      },
    ],
  },
  {
    file: 'git/journal/sync-pace.ts',
    mutants: [
      {
        line: 'await this.#disk.sync(fd, isHere)',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is committed to it',
      },
    ],
  },
  {
    file: 'git/pack/hashed-file.ts',
    mutants: [
      {
        line: 'await this.#disk.sync(this.#fd)',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is packed in it',
      },
    ],
  },
  {
    file: 'git/journal/journal.ts',
    mutants: [
      {
        line: 'if (this.#older.uncertain) await this.#older.harden()',
        becomes: '',
        test: journal,
        name: 'frames of a dead process are durable before a commit that builds on them',
      },
      {
        line: 'await this.#older.harden()\n    const sealed',
        becomes: 'const sealed',
        test: journal,
        name: 'frames of a dead process are durable before a pack and the branch name them',
      },
      {
        line: 'for (const file of this.#files) await file.scrub()',
        becomes: '',
        test: syncs,
        name: 'that what was erased is gone, where a process died as it emptied the journal',
      },
      {
        line: 'for (const file of this.#files) await file.sync()',
        becomes: '',
        test: syncs,
        name: 'that the journal of a closed store is empty: stock git may move the branch',
      },
      {
        line: 'if (isFirst) await this.#disk.syncDirectory(this.#directory)',
        becomes: '',
        test: syncs,
        name: 'a commit to such a clone where another process has died as it made the journal',
      },
    ],
  },
  {
    file: 'git/pack/pack-file.ts',
    mutants: [
      {
        line: 'await disk.sync(fd)',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is packed in it',
      },
      {
        line: 'await disk.syncDirectory(directory)',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is packed in it',
      },
    ],
  },
  {
    file: 'git/pack/pack-removal.ts',
    mutants: [
      {
        line: 'await disk.syncDirectory(directory)',
        becomes: '',
        test: syncs,
        name: 'that the packs of a redaction that was not committed are gone',
      },
    ],
  },
  {
    file: 'git/purge/emptied-names.ts',
    mutants: [
      {
        line: 'await sweep.sync()',
        becomes: '',
        test: 'attack/refused-packs.test.ts',
        name: 'is gone for good once a redaction of what is not stored is committed',
      },
    ],
  },
  {
    file: 'git/purge/purge.ts',
    mutants: [
      {
        line: 'await journal.scrub()',
        becomes: '',
        test: syncs,
        name: 'that what was erased is gone, where a process died as it emptied the journal',
      },
      {
        line: 'await sweep.sync()',
        becomes: '',
        test: syncs,
        name: 'that what was erased is gone, in every file',
      },
    ],
  },
  {
    file: 'git/purge/purge-intents.ts',
    mutants: [
      {
        line: 'await this.#parts.fenceJournal()',
        becomes: '',
        test: 'fault/object-store-purge.test.ts',
        name: 'a frame that only the device has outlives a power failure at once',
      },
      {
        line: 'await this.#parts.disk.syncDirectory(this.#parts.ownDirectory)',
        becomes: '',
        test: syncs,
        name: 'that what was erased is gone, in every file',
      },
    ],
  },
  {
    file: 'git/refs/ref-list.ts',
    mutants: [
      {
        line: 'await sweep.sync()',
        becomes: '',
        test: syncs,
        name: 'that a remote is not known any more, where its commit is erased afterwards',
      },
    ],
  },
  {
    file: 'git/repair/repair-site.ts',
    mutants: [
      {
        line: 'await this.disk.syncDirectory(aside)',
        becomes: '',
        test: syncs,
        name: 'that a journal which a repair has moved aside is not back',
      },
    ],
  },
  {
    file: 'git/refs/repository.ts',
    mutants: [
      {
        line: 'await disk.syncDirectory(`${directory}/objects`)',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is packed in it',
      },
      {
        line: 'await disk.syncDirectory(`${directory}/refs`)',
        becomes: '',
        test: syncs,
        name: 'a new store, and what is packed in it',
      },
      {
        line: 'await syncIfReadable(disk, dirname(directory))',
        becomes: '',
        test: syncs,
        name: 'a new store, also where an attempt to make it was interrupted',
      },
    ],
  },
  {
    file: 'store/clone/staged-clone.ts',
    mutants: [
      {
        line: 'await disk.syncDirectory(parentOf(directory))',
        becomes: '',
        test: syncs,
        name: 'the place of a repository that was made beside it',
      },
    ],
  },
]
