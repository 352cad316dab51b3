import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import type { Disk, FileStatus } from '../../../src/disk/disk.ts'
import { LockIdentity, ProcessLock } from '../../../src/disk/process-lock.ts'
import { type ProcessOwner, thisProcess } from '../../../src/disk/process-owner.ts'
import { sweepDead } from '../../../src/git/refs/git-file-lock.ts'
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
      expect(readdirSync(directory)).toEqual([
        'lock',
        `owner.${identity.token}`,
        `owner.${identity.token}.sock`,
      ])
      expect(lock.holder()?.pid).toBe(process.pid)
    })
    expect(lock.holder()).toBeUndefined()
    await identity.remove()
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
      // 1, 2: its owner file; 3, 4: its socket; 5: the attempt to link the lock; then the break
      // files; it dies after.
      const disk = new FaultyDisk({
        kind: 'death',
        at: 6 + breaker,
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
    await breaker.identity.write()
    linkSync(breaker.identity.path, join(directory, `lock.break.${token}.1`))
    const { lock } = handle(new FaultyDisk(), directory)
    await expect(lock.hold(30, async () => {})).rejects.toMatchObject({ code: 'locked' })
  })

  test('broken once is not taken from its next holder by a process that saw it dead', async () => {
    const directory = temporaryDirectory()
    await die(directory)
    const first = handle(new FaultyDisk(), directory)
    await first.identity.write()
    const lockFile = join(directory, 'lock')
    // Between reading the dead lock and claiming it, another process breaks it and takes the lock.
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
    // 1, 2: its owner file; 3, 4: its socket; 5: the link; 6: the release.
    const disk = new FaultyDisk({ kind: 'error', at: 6, times: 1, code: 'storage_failed' })
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
    await identity.write()
    disk.remove(identity.path)
    await expect(lock.hold(100, async () => 1)).resolves.toBe(1)
  })
})

/** A process of another container, as the others see it. */
class ElsewhereDisk extends FaultyDisk {
  override owner(): ProcessOwner {
    return { ...super.owner(), namespace: 'pid:[1]' }
  }
}

class SocketlessDisk extends ElsewhereDisk {
  override async listen(): Promise<undefined> {}
}

/** The directory as it is seen through another mounted file system. */
class OtherMountDisk extends FaultyDisk {
  override stat(path: string): FileStatus | undefined {
    const status = super.stat(path)
    return status && { ...status, device: status.device + 1 }
  }
}

describe('a lock that a process in another container holds', () => {
  async function held(
    holder: FaultyDisk,
    directory: string,
    work: () => Promise<unknown>,
  ): Promise<void> {
    await handle(holder, directory).lock.hold(0, work)
  }

  test('is taken over at once when that is dead', async () => {
    const directory = temporaryDirectory()
    const holder = new ElsewhereDisk()
    await held(holder, directory, async () => holder.die('nothing'))
    const { lock } = handle(new FaultyDisk(), directory)
    await expect(lock.hold(0, async () => 1)).resolves.toBe(1)
  })

  test('is left alone while that process lives, and its process id is not reported', async () => {
    const directory = temporaryDirectory()
    await held(new ElsewhereDisk(), directory, async () => {
      const attempt = handle(new FaultyDisk(), directory).lock.hold(20, async () => {})
      await expect(attempt).rejects.toMatchObject({
        code: 'locked',
        message: expect.stringMatching(/a process in another container holds it; wait for it/),
      })
    })
  })

  test.each([
    ['on a file system without sockets', SocketlessDisk, FaultyDisk],
    ['seen through another mount', ElsewhereDisk, OtherMountDisk],
  ])('%s is left alone, and the error says what to remove', async (_, Holder, Taker) => {
    const directory = temporaryDirectory()
    const [holder, disk] = [new Holder(), new Taker()]
    await held(holder, directory, async () => holder.die('nothing'))
    await expect(handle(disk, directory).lock.hold(20, async () => {})).rejects.toMatchObject({
      code: 'locked',
      message: expect.stringContaining('remove the file gitlocket/lock'),
    })
  })

  test('is left alone when its socket may not be asked', async () => {
    const directory = temporaryDirectory()
    const holder = new ElsewhereDisk()
    await held(holder, directory, async () => holder.die('nothing'))
    const socket = socketIn(directory)
    // Only ENOENT and ECONNREFUSED are certain: here it is ELOOP.
    unlinkSync(join(directory, socket))
    symlinkSync(socket, join(directory, socket))
    const attempt = handle(new FaultyDisk(), directory).lock.hold(20, async () => {})
    await expect(attempt).rejects.toMatchObject({ code: 'locked' })
  })
})

describe('the socket of a handle', () => {
  test('exists for the same user only, from before the lock can be taken', async () => {
    const directory = temporaryDirectory()
    const disk = new FaultyDisk()
    const { lock } = handle(disk, directory)
    await lock.hold(0, async () => {
      const socket = statSync(join(directory, socketIn(directory)))
      expect([socket.isSocket(), socket.mode & 0o777]).toEqual([true, 0o600])
    })
    const step = (start: string): number => disk.log.findIndex((line) => line.startsWith(start))
    expect(step('rename owner.')).toBeGreaterThan(step('listen at owner.'))
    expect(step('link owner.')).toBeGreaterThan(step('rename owner.'))
  })

  test('is made once, however often the lock is taken', async () => {
    const disk = new FaultyDisk()
    const { lock } = handle(disk, temporaryDirectory())
    for (let turn = 0; turn < 3; turn += 1) await lock.hold(0, async () => {})
    expect(disk.log.filter((line) => line.startsWith('listen'))).toHaveLength(1)
  })

  test.each([80, 250])('serves below a path of %i bytes more', async (length) => {
    const directory = join(temporaryDirectory(), 'd'.repeat(length))
    mkdirSync(directory)
    const holder = new ElsewhereDisk()
    await handle(holder, directory).lock.hold(0, async () => {
      expect(socketIn(directory)).toMatch(/^owner/)
      const taker = handle(new FaultyDisk(), directory).lock
      await expect(taker.hold(0, async () => {})).rejects.toThrow('wait for it')
      holder.die('nothing')
      await expect(taker.hold(0, async () => 1)).resolves.toBe(1)
    })
  })

  test('and its owner file block no process and are swept up after any death', async () => {
    for (let at = 1; at <= 7; at += 1) {
      const directory = temporaryDirectory()
      const disk = new FaultyDisk({ kind: 'death', at, moment: 'after', loss: 'nothing' })
      const dying = handle(disk, directory)
      const life = dying.lock.hold(0, async () => {}).then(() => dying.identity.remove())
      await expect(life, `operation ${at}`).rejects.toThrow('process')
      const survivor = handle(new FaultyDisk(), directory)
      await survivor.lock.hold(0, async () => sweep(survivor, directory))
      await survivor.identity.remove()
      expect(readdirSync(directory), `operation ${at}`).toEqual([])
    }
  })
})

function socketIn(directory: string): string {
  const [socket, ...others] = readdirSync(directory).filter((name) => name.endsWith('.sock'))
  if (socket === undefined || others.length > 0) throw new Error('There is not one socket')
  return socket
}

async function sweep({ identity }: Handle, ownDirectory: string): Promise<void> {
  const [disk, random] = [new FaultyDisk(), systemRandom]
  await sweepDead({ disk, directory: ownDirectory, ownDirectory, identity, random, waitMs: 0 }, [])
}

describe('whether the holder of a lock still lives', () => {
  const self = thisProcess()

  test.each([
    ['this process', self, 'living'],
    ['another start time: its process id was reused', { ...self, startTime: '1' }, 'ended'],
    ['an earlier boot', { ...self, bootId: 'another' }, 'ended'],
    ['a boot without an id', { ...self, bootId: '' }, 'living'],
    ['a process id that is free', { ...self, pid: 2 ** 22 + 1 }, 'ended'],
    ['another container, whose process ids are not ours', { ...self, namespace: 'x' }, 'unknown'],
    ['another container, of an earlier boot', { ...self, namespace: 'x', bootId: 'y' }, 'ended'],
  ])('%s', async (_, owner, life) => {
    expect(await new FaultyDisk().lifeOf(owner, undefined)).toBe(life)
  })

  test('the owner file holds what that needs', async () => {
    const directory = temporaryDirectory()
    const disk = new FaultyDisk()
    const identity = new LockIdentity(disk, directory, systemRandom)
    await identity.write()
    const text = readFileSync(identity.path)
    const device = statSync(directory).dev
    const expected = { owner: disk.owner(), token: identity.token, device }
    expect(JSON.parse(text.toString())).toEqual(expected)
    expect(text.subarray(-1)).toEqual(Buffer.from(utf8('\n')))
  })
})
