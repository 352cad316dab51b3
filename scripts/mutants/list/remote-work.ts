// What somebody without a key can make a store do.

import type { MutatedFile } from '../mutant.ts'

const budget = 'attack/work-budget.test.ts'
const eventLoop = 'attack/event-loop.test.ts'

export const remoteWork: readonly MutatedFile[] = [
  {
    file: 'git/pack/pack-scan.ts',
    mutants: [
      {
        line: `if (!this.#distinct.add(rank)) throw corruptPack('it holds an object twice')`,
        becomes: '',
        test: budget,
        name: 'of copies of one object with deltas on it ends at the second copy',
      },
      {
        line: 'this.#budget.spend(body.length + work)',
        becomes: 'this.#budget.spend(body.length)',
        test: budget,
        name: 'of commits in one chain of deltas ends at its budget',
      },
    ],
  },
  {
    file: 'git/pack/pack-salvage.ts',
    mutants: [
      {
        line: ' && at - start < numberBytesMax',
        becomes: '',
        test: 'attack/salvage.test.ts',
        name: 'of bytes that never end a number takes no scan for each of them',
      },
      {
        line: 'this.#budget.spend(body.length + work)',
        becomes: '',
        test: 'attack/salvage.test.ts',
        name: 'of one chain of deltas ends at its budget, and keeps what was found',
      },
    ],
  },
  {
    file: 'git/pack/work-budget.ts',
    mutants: [
      {
        line: 'if (this.#watch.isCancelled()) throw',
        becomes: 'if (false) throw',
        test: budget,
        name: 'ends within a mebibyte of work after it is cancelled',
      },
    ],
  },
  {
    file: 'git/pack/pack.ts',
    mutants: [
      {
        line: 'checkSize(targetSize(data), limit)',
        becomes: '',
        test: eventLoop,
        name: 'is refused where a delta makes it of a small base',
      },
    ],
  },
  {
    file: 'transport/pkt-line.ts',
    mutants: [
      {
        line: 'if (this.#slice.isOver()) await this.#slice.next()',
        becomes: '',
        test: eventLoop,
        name: 'give way to other work',
      },
    ],
  },
  {
    file: 'store/verify/new-commits.ts',
    mutants: [
      {
        line: 'verifyDecodedCommit(storeId, epochs, head, readCommitBytes(objects, head))',
        becomes: '',
        test: budget,
        name: 'are not walked through',
      },
    ],
  },
  {
    file: 'git/disk-store/disk-incoming.ts',
    mutants: [
      {
        line: 'if (this.#isPurged()) throw purgedMeanwhile()',
        becomes: '',
        test: 'attack/refused-packs.test.ts',
        name: 'is emptied by a purge, and then not accepted',
      },
      {
        line: 'await this.#sweepDead()',
        becomes: '',
        test: 'attack/refused-packs.test.ts',
        name: 'goes with the next that is received, if its process is dead',
      },
    ],
  },
  {
    file: 'store/sync/refused-head.ts',
    mutants: [
      {
        line: 'if (incoming.bytes > KEPT_BYTES_MAX) return notKeptError(verdict, tooLarge)',
        becomes: '',
        test: 'attack/refused-packs.test.ts',
        name: 'is not kept beyond 64 MiB, which the error says',
      },
      {
        line: 'if (isSame) await incoming.keep(remote.name, head)',
        becomes: 'await incoming.keep(remote.name, head)',
        test: 'attack/refused-packs.test.ts',
        name: 'is not kept if the redaction comes after the search',
      },
    ],
  },
  {
    file: 'store/sync/rounds.ts',
    mutants: [
      {
        line: 'incoming.drop()',
        becomes: '',
        test: 'attack/refused-packs.test.ts',
        name: 'is not kept beyond 64 MiB, which the error says',
      },
    ],
  },
  {
    file: 'transport/stall.ts',
    mutants: [
      {
        line: 'return Math.min(end, this.#deadline) - now',
        becomes: 'return end - now',
        test: 'unit/transport/stall.test.ts',
        name: 'is the timeout until ten of them have passed without data',
      },
      {
        line: 'this.#movedAt = performance.now()',
        becomes: '',
        test: 'unit/transport/stall.test.ts',
        name: 'begins anew with what is sent meanwhile',
      },
      {
        line: 'this.#chatterPackets += 1',
        becomes: '',
        test: 'unit/transport/stall.test.ts',
        name: 'what is no data ends after so many packets',
      },
    ],
  },
  {
    file: 'transport/fetch.ts',
    mutants: [
      {
        line: 'conversation.endurance.heard(packet.length)',
        becomes: '',
        test: 'attack/remote-wire.test.ts',
        name: 'acknowledgements without a pause end',
      },
    ],
  },
  {
    file: 'transport/push.ts',
    mutants: [
      {
        line: 'const listener = { onText, fail, endurance: { moved: heard, heard } }',
        becomes:
          'const listener = { onText, fail, endurance: { moved: () => {}, heard: () => {} } }',
        test: 'attack/remote-wire.test.ts',
        name: 'after a push, what a hook prints',
      },
    ],
  },
]
