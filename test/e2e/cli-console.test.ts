// `console` as a process: the address that it prints, how it ends, and what it refuses.

import { describe, expect, test } from 'vitest'
import { clientOf } from '../support/console.ts'
import { freePort } from '../support/free-port.ts'
import { ended, type Home, newHome } from './cli-process.ts'

async function newStoreHome(): Promise<Home> {
  const home = newHome()
  await home.ok('init', '--no-passphrase')
  return home
}

async function started(home: Home, ...words: string[]) {
  const child = home.start(['console', '--no-open', ...words])
  const end = ended(child)
  const line = await Promise.race([
    new Promise<string>((resolve) => {
      child.stdout?.once('data', (bytes: Buffer) => resolve(bytes.toString()))
    }),
    end.then(({ stderr }) => Promise.reject(new Error(stderr))),
  ])
  return { child, end, line }
}

function keyOf(address: string): Promise<string> {
  return clientOf(new URL(address).origin).keyOf(address)
}

describe('gitlocket console', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s closes the store and ends it',
    { tags: 'slow' },
    async (signal) => {
      const home = await newStoreHome()
      const { child, end, line } = await started(home)
      expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}\n$/)
      const key = await keyOf(line.trim())
      child.kill(signal)
      const { exitCode, stderr } = await end
      expect([exitCode, stderr]).toEqual([0, expect.stringContaining('Ended: the store is closed')])
      expect(key).toMatch(/^[\w-]{43}$/)
      expect(await home.ok('status')).toContain('in 1 commit\n')
    },
  )

  test('Lock ends it', { tags: 'slow' }, async () => {
    const home = await newStoreHome()
    const { end, line } = await started(home, '--json')
    const { address, url } = JSON.parse(line)
    const authorization = `Bearer ${await keyOf(address)}`
    await fetch(`${url}/lock`, { method: 'POST', headers: { authorization } })
    const { exitCode, stdout } = await end
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({
      type: 'console',
      ended: 'user',
    })
  })

  test('has the port that it is given, or reports why not', { tags: 'slow' }, async () => {
    const home = await newStoreHome()
    const port = String(await freePort())
    const first = await started(home, '--port', port)
    expect(new URL(first.line).port).toBe(port)
    const taken = await home.run(['console', '--no-open', '--port', port])
    expect(taken.exitCode).toBe(2)
    expect(taken.stderr).toContain('Another program listens there')
    first.child.kill()
    await first.end
    const again = await started(home, '--port', port)
    expect(new URL(again.line).port).toBe(port)
    again.child.kill()
    await again.end
  })

  test(
    'writes in the name of its user, and refuses with --read-only',
    { tags: 'slow' },
    async () => {
      const home = await newStoreHome()
      for (const [words, isWritten] of [
        [['--actor', 'anna'], true],
        [['--read-only'], false],
      ] as const) {
        const { child, end, line } = await started(home, ...words)
        const authorization = `Bearer ${await keyOf(line.trim())}`
        const answer = await fetch(`${new URL(line).origin}/ask/memory.create`, {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json' },
          body: JSON.stringify({ path: `/${words[0]}.md`, content: 'x' }),
        })
        expect(await answer.text()).toContain(isWritten ? '"versionId"' : '"code":"read_only"')
        child.kill()
        await end
      }
      expect(await home.ok('log')).toContain('anna')
      expect(await home.ok('ls')).not.toContain('read-only')
    },
  )

  test('needs a store', async () => {
    const { exitCode, stderr } = await newHome().run(['console', '--no-open'])
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain('gitlocket')
  })
})
