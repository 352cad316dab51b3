// What a server of many stores refuses before it does anything, and what it answers.

import type { MutatedFile } from '../mutant.ts'

export const server: readonly MutatedFile[] = [
  {
    file: 'api/hosted.ts',
    mutants: [
      {
        line: `if (access === undefined) throw`,
        becomes: `if (storeId === '') throw`,
        test: 'unit/api/store-operations.test.ts',
        name: 'a session reaches its stores alone, manages nothing, and writes where it may',
      },
      {
        line: `if (operation.effect === 'manage') {`,
        becomes: `if (operation.name === 'manage') {`,
        test: 'unit/api/store-operations.test.ts',
        name: 'a session reaches its stores alone, manages nothing, and writes where it may',
      },
      {
        line: `  checkAccess(operation, access)`,
        becomes: ``,
        test: 'unit/api/store-operations.test.ts',
        name: 'a session is refused a write before its body is looked at',
      },
    ],
  },
  {
    file: 'api/memory-operations.ts',
    mutants: [
      {
        line: `if (now?.versionId === left.versionId) return now.content`,
        becomes: `if (now !== undefined) return now.content`,
        test: 'unit/api/memory-operations.test.ts',
        name: 'update answers what it left, although another write follows at once',
      },
    ],
  },
  {
    file: 'api/version-operations.ts',
    mutants: [
      {
        line: `current: 'refuse'`,
        becomes: `current: 'overwrite'`,
        test: 'unit/api/memory-operations.test.ts',
        name: 'redaction leaves the current version of a live memory',
      },
      {
        line: `if (authors.length > 1) return emptyPage`,
        becomes: ``,
        test: 'unit/api/memory-operations.test.ts',
        name: 'the list of versions by two authors, which no version has',
      },
    ],
  },
  {
    file: 'api/wire-pages.ts',
    mutants: [
      {
        line: `const name = JSON.stringify(list)`,
        becomes: `const name = JSON.stringify(list.slice(0, 1))`,
        test: 'unit/api/memory-operations.test.ts',
        name: 'the list of memories has cursors of its own: of these filters, and of this store',
      },
    ],
  },
  {
    file: 'server/admission.ts',
    mutants: [
      {
        line: `token === undefined || others.length > 0 ?`,
        becomes: `token === undefined ?`,
        test: 'unit/server/admission.test.ts',
        name: 'a request with credentials that disagree',
      },
      {
        line: `if (!named.every(`,
        becomes: `if (hosts.size === 0 && !named.every(`,
        test: 'unit/server/admission.test.ts',
        name: 'a request to a host name of somebody else',
      },
      {
        line: `const named = [target, headers.get('host') ?? target]`,
        becomes: `const named = [headers.get('host') ?? target]`,
        test: 'attack/server-origins.test.ts',
        name: 'a target that names a host: http://evil.example/v1/memory_stores',
      },
      {
        line: `if (origin === null || origins.has(origin)) return`,
        becomes: `return`,
        test: 'unit/server/admission.test.ts',
        name: 'a request of a web page',
      },
      {
        line: `if (workspace !== null && workspace !== caller.workspaceId) {`,
        becomes: `if (workspace === '') {`,
        test: 'unit/server/admission.test.ts',
        name: 'a request to another workspace',
      },
    ],
  },
  {
    file: 'mcp/http.ts',
    mutants: [
      {
        line: `isFirst && response.ok ? withSession`,
        becomes: `isFirst ? withSession`,
        test: 'conformance/mcp-http.test.ts',
        name: 'a client that is refused gets no session',
      },
    ],
  },
  {
    file: 'store/search/live-index.ts',
    mutants: [
      {
        line: `    this.#isFilling = false
    this.#terms.clear()`,
        becomes: `    this.#terms.clear()`,
        test: 'unit/store/search/pauses.test.ts',
        name: 'an index that is emptied while a search fills it takes nothing more',
      },
    ],
  },
  {
    file: 'store/search/search.ts',
    mutants: [
      {
        line: `if (there.size < shown.length && !isLast) return undefined`,
        becomes: ``,
        test: 'unit/store/search/pauses.test.ts',
        name: 'a hit that is replaced before the answer is looked for again',
      },
      {
        line: `const data = [...hits].filter(([document]) => there.has(document))`,
        becomes: `const data = [...hits]`,
        test: 'unit/store/search/pauses.test.ts',
        name: 'a hit that is replaced all the time is left out, and never shown as it was',
      },
    ],
  },
  {
    file: 'server/exchange.ts',
    mutants: [
      {
        line: `whenSent(connection, leave)`,
        becomes: `leave()`,
        test: 'attack/server-load.test.ts',
        name: 'an answer that nobody reads counts',
      },
      {
        line: `whenSent(connection, leave)`,
        becomes: `void leave`,
        test: 'unit/server/admission.test.ts',
        name: 'one key may make so many requests at once',
      },
    ],
  },
  {
    file: 'server/held-bytes.ts',
    mutants: [
      {
        line: `return this.#held === 0 || this.#held + bytes <= this.#max`,
        becomes: `return this.#held + bytes <= this.#max + bytes`,
        test: 'unit/server/held-bytes.test.ts',
        name: 'bytes are given as they are left, in order, and to one alone always',
      },
      {
        line: `this.#waiting.peek() === undefined && this.#hasRoom(bytes)`,
        becomes: `this.#hasRoom(bytes)`,
        test: 'unit/server/held-bytes.test.ts',
        name: 'a large request is not passed by small ones without end',
      },
    ],
  },
  {
    file: 'server/allowance.ts',
    mutants: [
      {
        line: `const gained = Math.max(0, now - this.#at) * this.#perMs`,
        becomes: `const gained = (now - this.#at) * this.#perMs`,
        test: 'unit/server/key-limits.test.ts',
        name: 'are let in although the clock goes back an hour',
      },
    ],
  },
  {
    file: 'fair-queue.ts',
    mutants: [
      {
        line: `this.#keys.delete(key)`,
        becomes: ``,
        test: 'unit/fair-queue.test.ts',
        name: 'lets keys take turns, and within a key its sessions',
      },
      {
        line: `sessions.delete(session)`,
        becomes: `if (items.length === 1) sessions.delete(session)`,
        test: 'unit/fair-queue.test.ts',
        name: 'lets keys take turns, and within a key its sessions',
      },
    ],
  },
  {
    file: 'server/request-input.ts',
    mutants: [
      {
        line: `if (length !== null && Number(length) > bytesMax) throw tooLarge(bytesMax)`,
        becomes: ``,
        test: 'unit/server/request-input.test.ts',
        name: 'the body that claims to be too long is not read',
      },
      {
        line: `if (length > bytesMax) throw tooLarge(bytesMax)`,
        becomes: ``,
        test: 'unit/server/request-input.test.ts',
        name: 'the body may hold a megabyte, and no more',
      },
      {
        line: `if (found.has(key)) throw`,
        becomes: `if (key === '') throw`,
        test: 'unit/server/request-input.test.ts',
        name: 'the query limit=1&limit=1: 400',
      },
    ],
  },
  {
    file: 'server/answer.ts',
    mutants: [
      {
        line: `if (!incoming.complete) await new Promise(setImmediate)`,
        becomes: ``,
        test: 'unit/server/listener.test.ts',
        name: 'answers requests of one connection one after another, refused ones too',
      },
    ],
  },
  {
    file: 'server/listener.ts',
    mutants: [
      {
        line: `if (tls === undefined && !behindProxy && !isLoopback(host)) {`,
        becomes: `if (tls === undefined && host === '') {`,
        test: 'unit/server/listener.test.ts',
        name: 'listens on this machine alone without TLS, unless a proxy has it',
      },
    ],
  },
  {
    file: 'server/turns.ts',
    mutants: [
      {
        line: `if (line === undefined || line.last.writableFinished) {`,
        becomes: `if (line?.last !== outgoing) {`,
        test: 'attack/server-load.test.ts',
        name: 'is asked no more than what a connection holds',
      },
      {
        line: `if (line.waiting >= waitingMax) {`,
        becomes: `if (line.waiting < 0) {`,
        test: 'unit/server/turns.test.ts',
        name: 'many are not kept: who sends them without waiting is cut off',
      },
    ],
  },
]
