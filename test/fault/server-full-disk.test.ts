// A disk that is full under a server: what it answers then, and that nothing acknowledged is lost.
// The disk is real where the tests may mount one.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { expectDone, expectRefused } from '../support/http-caller.ts'
import { RunningServer } from '../support/running-server.ts'
import { startServer } from '../support/server.ts'
import { fillDisk, isRoot, mountDisk, unmountDisk } from '../support/small-disk.ts'
import { sharedDirectory } from '../support/temporary.ts'

const disk = sharedDirectory()
const filler = join(disk, 'filler')
const at = new RunningServer(disk, () => startServer(disk))

test.skipIf(!isRoot)(
  'a full disk is a 507, reads continue, and nothing is lost (as root, who may mount)',
  { tags: 'slow' },
  async ({ skip }) => {
    // A container may refuse it to root, too.
    if (!mountDisk(disk, '16m')) skip('no disk may be mounted here')
    onTestFinished(async () => {
      await at.stop()
      unmountDisk(disk)
    })
    await at.start()
    const store = await at.store()
    const written: string[] = []
    const write = async (path: string): Promise<number> => {
      const content = path.repeat(999)
      const answer = await at.caller.post(`${store.path}/memories`, { path, content })
      if (answer.status === 200) written.push(path)
      else expect(expectRefused(answer, 507)['message']).toContain('disk of the server is full')
      return answer.status
    }
    const paths = async (): Promise<unknown[]> => {
      return (await store.as(at.caller).memories()).map(({ path }) => path)
    }
    expect(await write('/before')).toBe(200)
    fillDisk(filler)
    let number = 0
    while ((await write(`/at/${number}`)) === 200) number += 1
    expect(await paths()).toEqual(expect.arrayContaining(written))
    expectDone(await at.caller.get(store.path))
    await at.stop()
    // It starts, or reports why not.
    const why = await at.start().catch((error: unknown) => error)
    if (why === undefined) expect(await paths()).toEqual(expect.arrayContaining(written))
    else expect(why).toMatchObject({ code: 'storage_full' })
    await at.stop()
    rmSync(filler)
    await at.start()
    expect(await write('/after')).toBe(200)
    expect(await paths()).toEqual(expect.arrayContaining(written))
    expectDone(await at.caller.get(store.path))
  },
)
