// The data directory of a server from before format 1 was frozen: refused with the way out, and
// not a byte of it changed.

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { openHostAdministration } from '../../../src/hosting/administration.ts'
import { DataDirectory } from '../../../src/hosting/data-directory.ts'
import { sealCache } from '../../../src/store/local/sealed-cache.ts'
import { type HostPlace, newHost, newHostPlace, settings } from '../../support/hosts.ts'

/** Every name, with the contents of files. */
function contentsOf({ dataDirectory, stateDirectory }: HostPlace): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const root of [dataDirectory, stateDirectory]) {
    for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      const path = join(root, name)
      found.set(path, statSync(path).isFile() ? readFileSync(path, 'base64') : 'directory')
    }
  }
  return found
}

async function unreleasedServer(): Promise<HostPlace> {
  const place = newHostPlace()
  const { host, caller } = await newHost({}, place)
  await host.create(caller, settings)
  await host.close()
  const { owner } = new DataDirectory(place)
  const value = { workspaces: [], stores: [] }
  const list = utf8(JSON.stringify({ version: 1, generation: 100, value }))
  for (const role of ['catalogue', 'credentials'] as const) {
    const bytes = sealCache(owner, { role, generation: 0 }, list)
    writeFileSync(`${place.dataDirectory}/${role}`, bytes)
  }
  return place
}

const refused = {
  code: 'upgrade_required',
  message: expect.stringContaining('`export` the memories of each store with that release'),
}

test('is refused by a server and by the command line, and keeps its bytes', async () => {
  const place = await unreleasedServer()
  const before = contentsOf(place)
  expect(before.size).toBeGreaterThan(10)
  await expect(newHost({}, place)).rejects.toMatchObject(refused)
  await expect(newHost({ acceptRolledBack: true }, place)).rejects.toMatchObject(refused)
  await expect(openHostAdministration(place)).rejects.toMatchObject(refused)
  expect(contentsOf(place)).toEqual(before)
})
