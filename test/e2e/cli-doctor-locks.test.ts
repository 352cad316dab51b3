// `doctor` while another process holds a lock of the store: names the process, reports whether it
// runs and what to do, without waiting for the lock.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { thisProcess } from '../../src/disk/process-owner.ts'
import { containers, runContained } from '../support/containers.ts'
import { type Home, newHomeWithStore } from './cli-process.ts'

const module = new URL('../../dist/git/disk-store/disk-object-store.js', import.meta.url)
const program = `
  import { openDiskObjectStore } from '${module.href}'
  const store = await openDiskObjectStore({ directory: process.argv.at(-1) })
  await store.exclusive(async () => {
    process.stdout.write('holding\\n')
    await new Promise(() => setInterval(() => {}, 1000))
  })`

function holderOf({ store }: Home): readonly string[] {
  return ['--input-type=module', '--eval', program, store]
}

async function startHolder(home: Home): Promise<ChildProcess> {
  const child = spawn(execPath, holderOf(home), { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

interface Check {
  readonly check: string
  readonly level: string
  readonly found: string
  readonly fix: string | null
}

async function doctor(home: Home): Promise<Readonly<Record<string, Check>>> {
  const { stdout } = await home.call(['doctor', '--json'])
  const checks: readonly Check[] = JSON.parse(stdout).checks
  return Object.fromEntries(checks.map((one) => [one.check, one]))
}

test(
  'doctor reports whether the holder of the lock runs, is stopped or has ended',
  { tags: 'slow' },
  async () => {
    const home = await newHomeWithStore()
    const holder = await startHolder(home)
    const who = `held by process ${holder.pid}`

    const running = await doctor(home)
    expect(running['Lock']).toMatchObject({ level: 'ok', found: `${who}, which runs` })
    expect(running['Reclaimable']?.found).toContain('not counted: another process holds a lock')

    holder.kill('SIGSTOP')
    const stopped = await doctor(home)
    expect(stopped['Lock']).toMatchObject({
      level: 'warn',
      found: `${who}, which is stopped or too busy to answer`,
      fix: expect.stringContaining(`kill -CONT ${holder.pid}`),
    })
    expect(stopped['Reclaimable']?.found).toContain('not counted')

    holder.kill('SIGKILL')
    await once(holder, 'close')
    const gone = await doctor(home)
    expect(gone['Lock']).toMatchObject({ level: 'ok', found: expect.stringContaining('has ended') })
    expect(gone['Reclaimable']).toMatchObject({
      level: 'ok',
      found: expect.stringContaining('none'),
    })
  },
)

test.skipIf(containers.missing)(
  `doctor reports the same of a process in another container${containers.note}`,
  { tags: 'slow' },
  async () => {
    const home = await newHomeWithStore()
    const holder = runContained(holderOf(home))
    await holder.printed('holding')
    const who = 'held by a process in another container'
    expect((await doctor(home))['Lock']?.found).toBe(`${who}, which runs`)
    holder.signal('SIGSTOP')
    expect((await doctor(home))['Lock']).toMatchObject({
      level: 'warn',
      found: `${who}, which is stopped or too busy to answer`,
      fix: expect.stringContaining('Continue that container'),
    })
    holder.signal('SIGKILL')
    await holder.ended
    expect((await doctor(home))['Lock']?.found).toContain('the next writer takes the lock')
    expect(await home.ok('create', 'a.md', '--text', 'a')).not.toBe('')
  },
)

test.each(['lock', 'checkpoint.lock'])(
  'doctor says if the holder of %s cannot be asked',
  async (name) => {
    const home = await newHomeWithStore()
    const holder = { owner: { ...thisProcess(), namespace: 'pid:[1]' }, token: '0'.repeat(32) }
    writeFileSync(join(home.store, 'gitlocket', name), JSON.stringify(holder))
    expect(Object.values(await doctor(home))).toContainEqual({
      check: name === 'lock' ? 'Lock' : 'Checkpoint lock',
      level: 'warn',
      found: expect.stringContaining('whether it still runs cannot be determined from here'),
      fix: expect.stringContaining(`delete gitlocket/${name} in the store`),
    })
  },
)
