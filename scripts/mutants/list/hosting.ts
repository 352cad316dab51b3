// Many stores of one server: who is let in, what is believed, and what is erased.

import type { MutatedFile } from '../mutant.ts'

const sealedFile = 'unit/hosting/sealed-file.test.ts'
const credentials = 'unit/hosting/credentials.test.ts'
const host = 'unit/hosting/host.test.ts'

export const hosting: readonly MutatedFile[] = [
  {
    file: 'hosting/sealed-file.ts',
    mutants: [
      {
        line: 'if (!this.#writing) this.#reload()',
        becomes: 'this.#reload()',
        test: sealedFile,
        name: 'what is being written is seen by no one until it is durable',
      },
      {
        line: 'if (isOld && !acceptRolledBack) throw this.#rolledBack(found === undefined)',
        becomes: '',
        test: sealedFile,
        name: 'an old file, and none, are refused at opening unless they are accepted',
      },
      {
        line: 'return found.generation === known.generation && found.digest !== known.digest',
        becomes: 'return false',
        test: sealedFile,
        name: 'a file of the same generation that is another one is refused',
      },
      {
        line: 'else if (found.generation > this.#known) await this.#adopt(found)',
        becomes: '',
        test: sealedFile,
        name: 'a newer file than its freshness is accepted, and the freshness follows',
      },
      {
        line: '(isOfDisk(error) || generation < this.#known)',
        becomes: 'false',
        test: sealedFile,
        name: 'what another process wrote is not undone where it cannot be read',
      },
      {
        line: 'await owner.disk.syncDirectory(dirname(path))',
        becomes: '',
        test: sealedFile,
        name: 'a file of a process that died is made durable before its freshness',
      },
      {
        line: 'isBehind(found, known) || isBehind(found, this.#state)',
        becomes: 'false',
        test: sealedFile,
        name: 'while it is open, a refused file is told once, and reads and writes go on',
      },
    ],
  },
  {
    file: 'hosting/backup.ts',
    mutants: [
      {
        line: 'if (next.length > 0) continue',
        becomes: '',
        test: 'unit/hosting/backup.test.ts',
        name: 'a store that is made while others are copied is in the backup',
      },
    ],
  },
  {
    file: 'hosting/credentials.ts',
    mutants: [
      {
        line: 'if (known === undefined || !isRight) return undefined',
        becomes: 'if (known === undefined) return undefined',
        test: credentials,
        name: 'a token is that of its key, and no other text is',
      },
      {
        line: 'return known.expiresAt > this.#directory.clock() ? known.caller : undefined',
        becomes: 'return known.caller',
        test: credentials,
        name: 'a session reaches its stores until it ends or expires, also after a restart',
      },
      {
        line: 'sessions: now.sessions.filter((session) => session.keyId !== keyId),',
        becomes: 'sessions: now.sessions,',
        test: credentials,
        name: 'a key is revoked beside the server, at its next request, with its sessions',
      },
    ],
  },
  {
    file: 'hosting/catalogue.ts',
    mutants: [
      {
        line: 'return store.workspaceId === workspaceId && attached?.has(store.storeId) !== false',
        becomes: 'return attached?.has(store.storeId) !== false',
        test: credentials,
        name: 'workspaces are made beside the server, and see nothing of each other',
      },
      {
        line: 'if (!acceptRolledBack && directory.storeIds().length > 0) throw lost()',
        becomes: '',
        test: host,
        name: 'an old list of stores is refused, and if it is accepted, nothing is erased',
      },
    ],
  },
  {
    file: 'hosting/hosted-stores.ts',
    mutants: [
      {
        line: 'return this.#parts.directory.holdStores(() => this.#sweep())',
        becomes: 'return this.#sweep()',
        test: 'unit/hosting/administration.test.ts',
        name: 'a server that starts does not erase the store that another process is making',
      },
      {
        line: "if (findId('store', storeId) === undefined) continue",
        becomes: '',
        test: host,
        name: 'what is no marker of a store, and what a link leads to, is left alone',
      },
    ],
  },
  {
    file: 'hosting/open-host.ts',
    mutants: [
      {
        line: 'if (!catalogue.wasRolledBack) await stores.sweep()',
        becomes: 'await stores.sweep()',
        test: host,
        name: 'an old list of stores is refused, and if it is accepted, nothing is erased',
      },
    ],
  },
]
