// What a sync takes over, sends and remembers.

import type { MutatedFile } from '../mutant.ts'

const interrupted = 'unit/store/sync/interrupted.test.ts'

export const sync: readonly MutatedFile[] = [
  {
    file: 'transport/credentials.ts',
    mutants: [
      {
        line: 'if (hostOf(host) === url.host) return undefined',
        becomes: "if (hostOf(host) !== '') return undefined",
        test: 'attack/token-host.test.ts',
        name: 'T40: the token is not sent for "example.org" to https://git.example.org/store.git',
      },
      {
        line: "if (url.protocol !== 'https:') return `${notSent} it goes over https alone`",
        becomes: "if (url.protocol === 'ssh:') return undefined",
        test: 'attack/token-host.test.ts',
        name: 'is not sent for "git.example.org" to http://git.example.org/store.git',
      },
    ],
  },
  {
    file: 'store/sync/sync.ts',
    mutants: [
      {
        line: 'await checkRepaired(session, remote.url, options)',
        becomes: '',
        test: 'interop/damaged-hosts.test.ts',
        name: 'says what to delete where it is damaged, and then mends',
      },
      {
        line: 'sharedBy.every((option) => one.options[option] === other.options[option])',
        becomes: 'true',
        test: 'unit/store/sync/queued-syncs.test.ts',
        name: 'a sync that can be cancelled ends alone',
      },
    ],
  },
  {
    file: 'async.ts',
    mutants: [
      {
        line: 'this.#waiting = this.#waiting.filter((other) => other.request !== request)',
        becomes: '',
        test: 'unit/async.test.ts',
        name: 'requests that wait and are alike share one run, which begins after all of them',
      },
    ],
  },
  {
    file: 'store/sync/push.ts',
    mutants: [
      {
        line: 'connection.expect(expected)',
        becomes: '',
        test: 'unit/store/sync/lost-race.test.ts',
        name: 'a race that is lost before the push costs no pack',
      },
    ],
  },
  {
    file: 'store/sync/push.ts',
    mutants: [
      {
        line: "if (commit === undefined || kindOf(session, commit.oid) === 'redact') return ends",
        becomes: 'if (commit === undefined) return ends',
        test: 'interop/large-pushes.test.ts',
        name: 'no step ends before a redaction that it would need',
      },
      {
        line: 'if (oldestParent === position - 1) ends.add(position - 1)',
        becomes: 'ends.add(position - 1)',
        test: 'interop/large-pushes.test.ts',
        name: 'a merge is in one step with both of its sides',
      },
    ],
  },
  {
    file: 'store/open.ts',
    mutants: [
      {
        line: 'await onSteadyHead(objects, () => openSession(objects, options))',
        becomes: 'await openSession(objects, options)',
        test: 'fault/redaction-beside.test.ts',
        name: 'opens the store on the second device',
      },
    ],
  },
  {
    file: 'store/session/one-state.ts',
    mutants: [
      {
        line: "return mayBeErased && hasCode(error, 'object_missing')",
        becomes: 'return false',
        test: interrupted,
        name: 'a purge may take what was brought before it is merged',
      },
      {
        line: 'objects.erasures !== erasures || objects.status().purgePending > 0',
        becomes: 'objects.status().purgePending > 0',
        test: interrupted,
        name: 'a purge may take what was brought before it is merged',
      },
      {
        line: "mayBeErased && hasCode(error, 'object_missing')",
        becomes: "hasCode(error, 'object_missing')",
        test: 'attack/remote-objects.test.ts',
        name: 'is asked for twice, and no more if nothing was erased here',
      },
      {
        line: "mayBeErased && hasCode(error, 'object_missing')",
        becomes: 'mayBeErased',
        test: 'unit/store/sync/lost-race.test.ts',
        name: 'what no race explains ends a sync, though files move meanwhile',
      },
    ],
  },
  {
    file: 'store/session/steady-head.ts',
    mutants: [
      {
        line: 'if (objects.head === head) return',
        becomes: 'return',
        test: 'unit/store/sync/trail-beside.test.ts',
        name: 'the anchor does not go back with a sync that was overtaken',
      },
      {
        line: 'if (!hasMoved || attempt === ATTEMPTS) throw error',
        becomes: 'throw error',
        test: 'unit/store/sync/trail-beside.test.ts',
        name: 'a sync that is overtaken before any of its locks ends at the same head',
      },
    ],
  },
  {
    file: 'store/sync/rounds.ts',
    mutants: [
      {
        line: 'if (isLost) goOn ??= session.holdBack(HOLD_MS)',
        becomes: '',
        test: 'unit/store/sync/lost-race.test.ts',
        name: 'a clone that never stops writing wins against one that pushes all the time',
      },
    ],
  },
  {
    file: 'store/session/writer.ts',
    mutants: [
      {
        line: 'return this.#queue.findIndex(({ alone }) => alone || !this.#isHeld)',
        becomes: 'return this.#queue.length - 1',
        test: 'unit/store/writer.test.ts',
        name: 'what is held back waits in its order, and what runs alone does not',
      },
    ],
  },
  {
    file: 'git/disk-store/outgoing-pack.ts',
    mutants: [
      {
        line: 'else if (this.#chosen[number] === 0) {',
        becomes: 'else {',
        test: 'interop/thin-pack.test.ts',
        name: 'of more objects than are packed in RAM holds a tree that recurs only once',
      },
    ],
  },
  {
    file: 'git/pack/pack-writer.ts',
    mutants: [
      {
        line: 'return thinBase !== undefined && names.has(thinBase.oid)',
        becomes: 'return thinBase === undefined',
        test: 'interop/thin-pack.test.ts',
        name: 'never builds on a tree that it brings itself',
      },
    ],
  },
  {
    file: 'store/commits/outgoing.ts',
    mutants: [
      {
        line: 'return tree === oid',
        becomes: 'return false',
        test: 'unit/store/commits/outgoing.test.ts',
        name: 'what is sent after a memory came and went is no tree that is there',
      },
      {
        line: 'return tree === oid',
        becomes: 'return true',
        test: 'unit/store/commits/outgoing.test.ts',
        name: 'what is sent after a memory came and went is no tree that is there',
      },
    ],
  },
  {
    file: 'store/sync/reconcile.ts',
    mutants: [
      {
        line: 'if (reconciled !== undefined && reconciled.erased > 0) session.forgetAll()',
        becomes: '',
        test: 'unit/store/sync/redacted-between.test.ts',
        name: 'what another machine redacted is in the memory of no open store after its sync',
      },
      {
        line: 'if (differInRights(session.snapshot, tip)) {',
        becomes: 'if (false) {',
        test: 'unit/store/sync/staged-clone.test.ts',
        name: 'does not take over what a device wrote that is removed here meanwhile',
      },
    ],
  },
  {
    file: 'store/sync/erase.ts',
    mutants: [
      {
        line: `      if (!hasCode(error, 'object_missing')) throw error
`,
        becomes: '      throw error\n',
        test: interrupted,
        name: 'a purge may take a head while it is verified once more',
      },
    ],
  },
  {
    file: 'store/sync/erase.ts',
    mutants: [
      {
        line: 'await eraseBroughtBack(session, [...verified.values()], options, refused)',
        becomes: 'await eraseBroughtBack(session, [...verified.values()], options)',
        test: interrupted,
        name: 'what is left of a head is erased, too, after a redaction of what it builds on',
      },
      {
        line: `(await session.reading(({ redacted }) => redacted.size > 0))`,
        becomes: 'false',
        test: interrupted,
        name: 'what was fetched is erased when a redaction of it comes with a later head',
      },
      {
        line: 'return heads.filter((head) => !unsettled.includes(head))',
        becomes: 'return heads',
        test: interrupted,
        name: 'a head that is not settled yet is checked again',
      },
    ],
  },
  {
    file: 'store/local/remote-state-file.ts',
    mutants: [
      {
        line: 'Math.min(entry.intactBelow ?? height, height)',
        becomes: 'height',
        test: 'unit/store/sync/redacted-between.test.ts',
        name: 'two redactions between syncs, the older version first: the host gets both',
      },
      {
        line: 'if (entry?.url !== url) return undefined',
        becomes: 'if (entry === undefined) return undefined',
        test: 'unit/store/sync/remote-status.test.ts',
        name: 'counts what a redaction has renamed, and forgets another address',
      },
    ],
  },
  {
    file: 'store/sync/rounds.ts',
    mutants: [
      {
        line: 'if (head !== undefined && options.repair !== true) await known.note(',
        becomes: 'if (head !== undefined) await known.note(',
        test: 'unit/store/sync/failed-repair.test.ts',
        name: 'a host that was rolled back, and then got commits of another machine',
      },
    ],
  },
  {
    file: 'store/sync/sync.ts',
    mutants: [
      {
        line: 'queue.run({ author, options }, () => syncAlone(session, author, options))',
        becomes: 'syncAlone(session, author, options)',
        test: 'unit/store/sync/staged-clone.test.ts',
        name: 'waits for another sync of the same store, which leaves it nothing to do',
      },
    ],
  },
  {
    file: 'store/sync/refused-head.ts',
    mutants: [
      {
        line: 'if (await inSlices(search, signal)) return verdict',
        becomes: '',
        test: 'unit/store/sync/refused-pack.test.ts',
        name: 'a pack with a redacted version is not kept under a name that no store has',
      },
      {
        line: 'if (opened > OPENED_MAX) return true',
        becomes: '',
        test: 'unit/store/sync/refused-pack.test.ts',
        name: 'a pack that cannot be searched for what is redacted is not kept with more objects',
      },
      {
        line: "type === 'commit' && mayHaveDetail(body)",
        becomes: 'false',
        test: 'unit/store/sync/refused-pack.test.ts',
        name: 'for what is redacted is not kept with a detail that does not open',
      },
    ],
  },
  {
    file: 'store/sync/remote-head.ts',
    mutants: [
      {
        line: 'if (findStoreId(objects, head, wasShown) === expected) return',
        becomes: 'return',
        test: 'attack/remote-commits.test.ts',
        name: 'a newer format looks like an upgrade: not replaced by us, but restored by git',
      },
      {
        line: '(await verifyFromMerged(source, history, head, how)) ??',
        becomes: '',
        test: 'unit/store/sync/lost-race.test.ts',
        name: 'each further round verifies what came since, and no more',
      },
      {
        line: 'if (known === undefined) return undefined',
        becomes: 'if (known === undefined) throw new Error()',
        test: 'unit/store/sync/lost-race.test.ts',
        name: 'a redaction of ours that renames what was merged starts from the beginning',
      },
    ],
  },
  {
    file: 'store/local/remote-state-file.ts',
    mutants: [
      {
        line: 'const since = mark === undefined ? [] : rewrittenSince(file, mark)',
        becomes: 'const since: number[] = []',
        test: 'unit/store/sync/remote-state-file.test.ts',
        name: 'a sync that found all of it intact',
      },
      {
        line: 'if (newCount < 0 || newCount > heights.length) return [0]',
        becomes: 'if (news < 0) return [0]',
        test: 'unit/store/sync/remote-state-file.test.ts',
        name: 'more redactions than are remembered leave nothing intact',
      },
    ],
  },
]
