// What every implementation of Disk must do with files and directories. Links, pipes and locks
// among processes are the system's alone.

import { describe, expect, test } from 'vitest'
import { utf8, utf8Text } from '../../src/bytes.ts'
import { atomicWrite, type Disk, isSameFile } from '../../src/disk/disk.ts'

interface Place {
  readonly disk: Disk
  /** An empty directory. */
  readonly root: string
}

export function describeDisk(kind: string, place: () => Place): void {
  describe(`a disk ${kind}`, () => {
    test('creates a file once, in an existing directory', () => {
      const { disk, root } = place()
      expect(disk.openExisting(`${root}/a`, 'r')).toBeUndefined()
      expect(() => disk.open(`${root}/a`, 'r')).toThrow('does not exist')
      put(disk, `${root}/a`, 'text')
      expect(() => disk.open(`${root}/a`, 'wx')).toThrow('exists already')
      expect(() => disk.open(`${root}/none/a`, 'wx')).toThrow('Could not')
      expect(textOf(disk, `${root}/a`)).toBe('text')
    })

    test('reads and writes at positions', () => {
      const { disk, root } = place()
      put(disk, `${root}/a`, '0123456789')
      const fd = disk.open(`${root}/a`, 'r+')
      disk.write(fd, utf8('xy'), 4)
      disk.write(fd, utf8('end'), 12)
      expect(disk.size(fd)).toBe(15)
      expect(readAt(disk, fd, 0, 99)).toBe('0123xy6789\0\0end')
      expect(readAt(disk, fd, 2, 4)).toBe('23xy')
      expect(readAt(disk, fd, 13, 10)).toBe('nd')
      expect(readAt(disk, fd, 99, 10)).toBe('')
      disk.truncate(fd, 3)
      expect(disk.size(fd)).toBe(3)
      disk.close(fd)
      expect(textOf(disk, `${root}/a`)).toBe('012')
      expect(() => disk.size(fd)).toThrow('Could not')
    })

    test('gives a copy of a file, unless that is larger than allowed', () => {
      const { disk, root } = place()
      put(disk, `${root}/a`, 'text')
      const before = disk.readFile(`${root}/a`)
      before?.fill(0)
      expect(textOf(disk, `${root}/a`)).toBe('text')
      expect(disk.readFile(`${root}/a`, 4)?.length).toBe(4)
      expect(() => disk.readFile(`${root}/a`, 3)).toThrow('larger than')
      expect(disk.readFile(`${root}/a/b`)).toBeUndefined()
    })

    test('lists what a directory holds', () => {
      const { disk, root } = place()
      expect(disk.list(`${root}/none`)).toEqual([])
      disk.makeDirectory(`${root}/c/d`)
      disk.makeDirectory(`${root}/c`)
      put(disk, `${root}/b`, 'b')
      put(disk, `${root}/c/e`, 'e')
      expect(disk.list(root)).toEqual(['b', 'c'])
      expect(disk.list(`${root}/c`)).toEqual(['d', 'e'])
      const kinds = disk.entries(root).map(({ name, isDirectory }) => [name, isDirectory])
      expect(Object.fromEntries(kinds)).toEqual({ b: false, c: true })
      expect(() => disk.makeDirectory(`${root}/b`)).toThrow('Could not')
      disk.removeTree(`${root}/c`)
      disk.removeTree(`${root}/c`)
      expect(disk.list(root)).toEqual(['b'])
      expect(disk.stat(`${root}/c/e`)).toBeUndefined()
    })

    test('renames over a file, which readers have until they close it', () => {
      const { disk, root } = place()
      put(disk, `${root}/a`, 'old')
      put(disk, `${root}/b`, 'new')
      const [old, next] = [disk.stat(`${root}/a`), disk.stat(`${root}/b`)]
      expect(isSameFile(old, next)).toBe(false)
      const fd = disk.open(`${root}/a`, 'r')
      disk.rename(`${root}/b`, `${root}/a`)
      expect(readAt(disk, fd, 0, 3)).toBe('old')
      disk.close(fd)
      expect(textOf(disk, `${root}/a`)).toBe('new')
      expect(isSameFile(disk.stat(`${root}/a`), next)).toBe(true)
      expect(disk.list(root)).toEqual(['a'])
      expect(() => disk.rename(`${root}/b`, `${root}/a`)).toThrow('does not exist')
    })

    test('links a file under a free name, and removes one name at a time', () => {
      const { disk, root } = place()
      put(disk, `${root}/a`, 'text')
      expect(disk.link(`${root}/a`, `${root}/b`)).toBe(true)
      expect(disk.link(`${root}/a`, `${root}/b`)).toBe(false)
      expect(() => disk.link(`${root}/none`, `${root}/c`)).toThrow('does not exist')
      disk.remove(`${root}/a`)
      disk.remove(`${root}/a`)
      expect(textOf(disk, `${root}/b`)).toBe('text')
      expect(disk.list(root)).toEqual(['b'])
    })

    test('replaces a file as a whole, and leaves no other', async () => {
      const { disk, root } = place()
      for (const text of ['first', 'the second']) {
        const before = disk.stat(`${root}/a`)
        await atomicWrite(disk, `${root}/a`, utf8(text))
        expect(textOf(disk, `${root}/a`)).toBe(text)
        expect(isSameFile(disk.stat(`${root}/a`), before)).toBe(false)
      }
      const failing = atomicWrite(disk, `${root}/a`, utf8('third'), () => {
        throw new Error('not ready')
      })
      await expect(failing).rejects.toThrow('not ready')
      expect(textOf(disk, `${root}/a`)).toBe('the second')
      await atomicWrite(disk, `${root}/a`, utf8('fourth'))
      expect(disk.list(root)).toEqual(['a'])
    })
  })
}

function put(disk: Disk, path: string, text: string): void {
  const fd = disk.open(path, 'wx')
  disk.write(fd, utf8(text), 0)
  disk.close(fd)
}

function textOf(disk: Disk, path: string): string | undefined {
  const bytes = disk.readFile(path)
  return bytes && utf8Text(bytes)
}

function readAt(disk: Disk, fd: number, position: number, length: number): string {
  const into = new Uint8Array(length)
  return utf8Text(into.subarray(0, disk.read(fd, into, position)))
}
