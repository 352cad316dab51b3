// `serve` as a process of its own, and requests to it.

import type { ChildProcess } from 'node:child_process'
import { type Ended, ended, type Home } from './cli-process.ts'

export interface Served {
  readonly url: string
  readonly child: ChildProcess
  /** Ends it with a signal. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

export async function serve(
  home: Home,
  words: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const child = home.start(['serve', '--port', '0', ...words], env)
  const end = ended(child)
  const url = await Promise.race([
    new Promise<string>((resolve) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        const found = /https?:\/\/[^\s"]+/.exec(chunk.toString())
        if (found !== null) resolve(found[0])
      })
    }),
    end.then(({ stderr }) => Promise.reject(new Error(`It did not start: ${stderr}`))),
  ])
  return {
    url,
    child,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal)
      return end
    },
  }
}

export interface Asked {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export async function ask(url: string, token: string, path: string, json?: object): Promise<Asked> {
  const response = await fetch(`${url}/v1/${path}`, {
    method: json === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'anthropic-beta': 'agent-memory-2026-07-22',
      ...(json && { 'content-type': 'application/json' }),
    },
    ...(json && { body: JSON.stringify(json) }),
  })
  return { status: response.status, body: Object(await response.json()) }
}

export async function newKey(home: Home, ...words: readonly string[]): Promise<string> {
  return String((await home.json('api-key', 'create', ...words))['token'])
}
