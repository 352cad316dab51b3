// A console over a real store, for tests: in this process, with the page that the build has made
// and a clock that the test moves; and what a page does to ask it, or an attacker in its place.

import { onTestFinished } from 'vitest'
import { jsonOf, trusted } from '../../src/console/client/core/trusted.ts'
import { type ConsoleOptions, openConsole, type WebConsole } from '../../src/console/console.ts'
import { readPageFiles } from '../../src/console/page-files.ts'
import type { MemoryStore } from '../../src/index.ts'
import type {
  AnswerLine,
  AskError,
  InputOf,
  QuestionName,
  ResultOf,
} from '../../src/operations/console/contract.ts'
import {
  type ConsoleSubject,
  type ConsoleUser,
  memberSubject,
  onlySubject,
} from '../../src/operations/console/subject.ts'
import { author, newStore } from './stores.ts'

const pageFiles = readPageFiles(new URL('../../dist/console/client/', import.meta.url))

export function consoleUser(store: MemoryStore, options: Partial<ConsoleUser> = {}): ConsoleUser {
  const looked = new Set<string>()
  return {
    store,
    writer: (reason) => store.as(reason === undefined ? author : { ...author, reason }),
    access: 'read_write',
    seen: {
      read: () => looked,
      mark: (ids) => {
        for (const id of ids) looked.add(id)
      },
    },
    remoteAccess: {},
    textsOutside: () => [],
    clock: Date.now,
    sign: () => ({ html: '<!doctype html>', signature: '' }),
    ...options,
  }
}

/** Asks without a page: what the operation answers or throws. */
export function askerOf(subject: ConsoleSubject) {
  return async <Name extends QuestionName>(
    name: Name,
    input: InputOf<Name>,
  ): Promise<ResultOf<Name>> => trusted(await subject.ask(name, input, {}))
}

/** A store, and questions to its console without a page. */
export async function newConsole(options?: Parameters<typeof newStore>[0]) {
  const { store, place } = await newStore(options)
  return { store, place, ask: askerOf(memberSubject(consoleUser(store))) }
}

export interface OpenedConsole extends WebConsole {
  readonly host: string
  /** A key, as a page gets it. */
  readonly newKey: () => Promise<string>
  /** The answer to a question, or its error. */
  readonly ask: (
    key: string,
    name: string,
    input: unknown,
  ) => Promise<{ readonly result?: unknown; readonly error?: AskError }>
}

/** Closed when the test ends. */
export async function openedConsole(
  store: MemoryStore,
  options: Partial<ConsoleOptions & ConsoleUser & { readonly subject: ConsoleSubject }> = {},
): Promise<OpenedConsole> {
  const subject = options.subject ?? memberSubject(consoleUser(store, options))
  const subjects = onlySubject(subject)
  const shown = await openConsole({ page: pageFiles, clock: Date.now, subjects, ...options })
  onTestFinished(() => shown.close())
  const { keyOf, ask } = clientOf(shown.url)
  return {
    ...shown,
    host: new URL(shown.url).host,
    newKey: () => keyOf(shown.newAddress()),
    ask,
  }
}

/** What a page of the console at this address can do. */
export function clientOf(url: string): Pick<OpenedConsole, 'ask'> & {
  readonly keyOf: (address: string) => Promise<string>
} {
  const post = (path: string, body: unknown, key?: string): Promise<Response> =>
    fetch(url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
    })
  return {
    keyOf: async (address) => {
      const token = tokenIn(address)
      const { key } = await jsonOf<{ readonly key: string }>(await post('/session', { token }))
      return key
    },
    ask: async (key, name, input) => {
      const answer = await post(`/ask/${name}`, input, key)
      const lines = (await answer.text()).trim().split('\n')
      const last = trusted<AnswerLine>(JSON.parse(lines.at(-1) ?? '{}'))
      return 'progress' in last ? {} : last
    },
  }
}

export function tokenIn(address: string): string {
  return new URL(address).hash.slice('#token='.length)
}
