import { linkSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import type { Disk } from '../../../src/git/disk.ts'
import { LockIdentity, ProcessLock } from '../../../src/git/process-lock.ts'
import { thisProcess } from '../../../src/git/process-owner.ts'
import { FaultyDisk } from '../../support/faulty-disk.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

interface Handle {
  readonly lock: ProcessLock
  readonly identity: LockIdentity
}

function handle(disk: Disk, directory: string): Handle {
  const identity = new LockIdentity(disk, directory, systemRandom)
  const path = join(directory, 'lock')
  const options = { disk, identity, path, random: systemRandom, purpose: 'writer' }
  return { lock: new ProcessLock(options), identity }
}

/** Leaves a lock behind as a process does that dies while it holds it. */
async function die(directory: string): Promise<void> {
  const disk = new FaultyDisk()
  await handle(disk, directory).lock.hold(100, async () => disk.die('nothing'))
}

describe('a process lock', () => {
  test('is held by one handle at a time, within a process and among processes', async () => {
    const directory = temporaryDirectory()
    const first = handle(new FaultyDisk(), directory)
    const second = handle(new FaultyDisk(), directory)
    let holders = 0
    let most = 0
    const work = async (): Promise<void> => {
      holders += 1
      most = Math.max(most, holders)
      await new Promise((resolve) => setImmediate(resolve))
      holders -= 1
    }
    const turns = Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? first : second))
    await Promise.all(turns.map(({ lock }) => lock.hold(10_000, work)))
    expect(most).toBe(1)
  })

  test('leaves no file once it is released and its identity is removed', async () => {
    const directory = temporaryDirectory()
    const { lock, identity } = handle(new FaultyDisk(), directory)
    await lock.hold(100, async () => {
      expect(readdirSync(directory)).toHaveLength(2)
      expect(lock.holder()?.pid).toBe(process.pid)
    })
    expect(lock.holder()).toBeUndefined()
    identity.remove()
    expect(readdirSync(directory)).toEqual([])
  })

  test('is released when the work fails, and passes the error on', async () => {
    const { lock } = handle(new FaultyDisk(), temporaryDirectory())
    const failing = lock.hold(100, async () => {
      throw new Error('the work failed')
    })
    await expect(failing).rejects.toThrow('the work failed')
    await expect(lock.hold(100, async () => 1)).resolves.toBe(1)
  })

  test.each([
    ['the same handle', (own: Handle) => own],
    ['a live process', (_: Handle, other: Handle) => other],
  ])('held by %s is waited for, then refused as locked, naming the process', async (_, pick) => {
    const directory = temporaryDirectory()
    const own = handle(new FaultyDisk(), directory)
    const other = handle(new FaultyDisk(), directory)
    await pick(own, other).lock.hold(100, async () => {
      const attempt = own.lock.hold(20, async () => {})
      await expect(attempt).rejects.toMatchObject({
        code: 'locked',
        message: expect.stringContaining(String(process.pid)),
      })
    })
    await expect(own.lock.hold(100, async () => 1)).resolves.toBe(1)
  })

  test('of a dead process is broken, and its break files go', async () => {
    const directory = temporaryDirectory()
    await die(directory)
    const { lock } = handle(new FaultyDisk(), directory)
    await expect(lock.hold(100, async () => 1)).resolves.toBe(1)
    expect(readdirSync(directory).filter((name) => name.startsWith('lock'))).toEqual([])
  })

  test('passes the right to break on when breakers die, one after the other', async () => {
    const directory = temporaryDirectory()
    await die(directory)
    for (let breaker = 0; breaker < 3; breaker += 1) {
      // 1, 2: its owner file; 3: the attempt to link the lock; then the break files; it dies after.
      const disk = new FaultyDisk({
        kind: 'death',
        at: 4 + breaker,
        moment: 'after',
        loss: 'nothing',
      })
      await expect(handle(disk, directory).lock.hold(50, async () => {})).rejects.toThrow('process')
      expect(disk.dead).toBe(true)
    }
    expect(readdirSync(directory).filter((name) => name.includes('.break.'))).toHaveLength(3)
    const { lock } = handle(new FaultyDisk(), directory)
    await expect(lock.hold(100, async () => 1)).resolves.toBe(1)
    expect(readdirSync(directory).filter((name) => name.startsWith('lock'))).toEqual([])
  })

  test('is left alone while a live process is breaking it', async () => {
    const directory = temporaryDirectory()
    await die(directory)
    const { token } = JSON.parse(readFileSync(join(directory, 'lock'), 'utf8'))
    const breaker = handle(new FaultyDisk(), directory)
    breaker.identity.write()
    linkSync(breaker.identity.path, join(directory, `lock.break.${token}.1`))
    const { lock } = handle(new FaultyDisk(), directory)
    await expect(lock.hold(30, async () => {})).rejects.toMatchObject({ code: 'locked' })
  })

  test('broken once is not taken from its next holder by who saw the dead one', async () => {
    const directory = temporaryDirectory()
    await die(directory)
    const first = handle(new FaultyDisk(), directory)
    first.identity.write()
    const lockFile = join(directory, 'lock')
    // Between reading the dead lock and claiming it, somebody else breaks it and takes the lock.
    const slow = new FaultyDisk()
    const link = slow.link.bind(slow)
    let claims = 0
    slow.link = (from, to) => {
      if (to.includes('.break.')) {
        claims += 1
        unlinkSync(lockFile)
        linkSync(first.identity.path, lockFile)
      }
      return link(from, to)
    }
    const attempt = handle(slow, directory).lock.hold(50, async () => {})
    await expect(attempt).rejects.toMatchObject({ code: 'locked' })
    expect(claims).toBe(1)
    expect(JSON.parse(readFileSync(lockFile, 'utf8')).token).toBe(first.identity.token)
  })

  test.each(['', '{', '{"token":"x"}', '\0\0\0\0'])(
    'whose file a power loss left as %j is broken',
    async (content) => {
      const directory = temporaryDirectory()
      writeFileSync(join(directory, 'lock'), content)
      const { lock } = handle(new FaultyDisk(), directory)
      await expect(lock.hold(100, async () => 1)).resolves.toBe(1)
    },
  )

  test('whose release failed is taken up again by the same handle', async () => {
    const directory = temporaryDirectory()
    // 1, 2: its owner file; 3: the link; 4: the release.
    const disk = new FaultyDisk({ kind: 'error', at: 4, times: 1, code: 'storage_failed' })
    const { lock } = handle(disk, directory)
    await expect(lock.hold(100, async () => 1)).resolves.toBe(1)
    expect(lock.holder()).toBeDefined()
    await expect(lock.hold(100, async () => 2)).resolves.toBe(2)
    expect(lock.holder()).toBeUndefined()
  })

  test('recovers when its owner file was swept up before it was whole', async () => {
    const directory = temporaryDirectory()
    const disk = new FaultyDisk()
    const { lock, identity } = handle(disk, directory)
    identity.write()
    disk.remove(identity.path)
    await expect(lock.hold(100, async () => 1)).resolves.toBe(1)
  })
})

describe('whether the holder of a lock still lives', () => {
  const self = thisProcess()

  test.each([
    ['this process', self, true],
    ['another start time: its process id was reused', { ...self, startTime: '1' }, false],
    ['an earlier boot', { ...self, bootId: 'another' }, false],
    ['a process id that is free', { ...self, pid: 2 ** 22 + 1 }, false],
    [
      'another container, whose process ids are not ours',
      { ...self, namespace: 'x', pid: 1 },
      true,
    ],
  ])('%s', (_, owner, alive) => {
    expect(new FaultyDisk().isAlive(owner)).toBe(alive)
  })

  test('the owner file holds what that needs', () => {
    const directory = temporaryDirectory()
    const disk = new FaultyDisk()
    const identity = new LockIdentity(disk, directory, systemRandom)
    identity.write()
    const text = readFileSync(identity.path)
    expect(JSON.parse(text.toString())).toEqual({ owner: disk.owner(), token: identity.token })
    expect(text.subarray(-1)).toEqual(Buffer.from(utf8('\n')))
  })
})
