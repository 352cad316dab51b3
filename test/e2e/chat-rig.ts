// What the tests of `gitlocket chat` share: a scripted Messages API for one test, and the variables
// by which the command finds it.

import { onTestFinished } from 'vitest'
import { type MessagesApi, startMessagesApi, type Turn } from '../support/messages-api.ts'
import type { Ended, Home, RunOptions } from './cli-process.ts'

/** Gone when the test ends. */
export async function scripted(script: readonly Turn[]): Promise<MessagesApi> {
  const api = await startMessagesApi(script)
  onTestFinished(() => api.close())
  return api
}

export function variables({ url }: MessagesApi): Readonly<Record<string, string>> {
  return { ANTHROPIC_API_KEY: 'sk-local', ANTHROPIC_BASE_URL: url }
}

/** One message, inside this process. */
export function ask(home: Home, api: MessagesApi, words: readonly string[] = []): Promise<Ended> {
  return home.call(['chat', '--message', 'Remember', ...words], variables(api))
}

/** One message on standard input of a process. */
export function pipe(
  home: Home,
  api: MessagesApi,
  words: readonly string[] = [],
  options: RunOptions = {},
): Promise<Ended> {
  return home.run(['chat', ...words], { input: 'Remember', env: variables(api), ...options })
}
