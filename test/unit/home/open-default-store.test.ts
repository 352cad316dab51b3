// `openDefaultStore` opens the store that the command line would, by its variables alone.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  createStore,
  formatIdentity,
  generateIdentity,
  openDefaultStore,
} from '../../../src/index.ts'
import { author } from '../../support/stores.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

interface Case {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  readonly variables: Record<string, string>
}

const cases: Readonly<Record<string, (home: string) => Case>> = {
  'the home directory': (home) => ({
    directory: `${home}/.local/share/gitlocket/store`,
    stateDirectory: `${home}/.local/state/gitlocket`,
    identityFile: `${home}/.config/gitlocket/identity`,
    variables: { HOME: home, XDG_DATA_HOME: '', XDG_STATE_HOME: 'relative' },
  }),
  XDG: (home) => ({
    directory: `${home}/data/gitlocket/store`,
    stateDirectory: `${home}/state/gitlocket`,
    identityFile: `${home}/config/gitlocket/identity`,
    variables: {
      XDG_CONFIG_HOME: `${home}/config`,
      XDG_DATA_HOME: `${home}/data`,
      XDG_STATE_HOME: `${home}/state`,
    },
  }),
  'the variables of gitlocket': (home) => ({
    directory: `${home}/a`,
    stateDirectory: `${home}/b`,
    identityFile: `${home}/c/identity`,
    variables: {
      XDG_DATA_HOME: `${home}/data`,
      GITLOCKET_STORE: `${home}/a`,
      GITLOCKET_STATE_DIRECTORY: `${home}/b`,
      GITLOCKET_IDENTITY_FILE: `${home}/c/identity`,
    },
  }),
}

test.each(Object.entries(cases))('opens by %s', async (_, placesIn) => {
  const { identityFile, variables, ...places } = placesIn(temporaryDirectory())
  const identity = await generateIdentity()
  mkdirSync(join(identityFile, '..'), { recursive: true })
  const { store } = await createStore({ ...places, identity })
  await store.as(author).write('/notes.md', 'here')
  await store.close()

  const missing = openDefaultStore(variables)
  await expect(missing).rejects.toMatchObject({
    code: 'invalid_identity',
    message: expect.stringContaining(`${identityFile}: \`gitlocket init\``),
  })
  writeFileSync(identityFile, formatIdentity(identity))
  chmodSync(identityFile, 0o640)
  await expect(openDefaultStore(variables)).rejects.toMatchObject({
    code: 'invalid_identity',
    message: expect.stringMatching(/mode 640.*`chmod 600 /s),
  })
  chmodSync(identityFile, 0o600)
  const opened = await openDefaultStore(variables)
  expect(await opened.read('/notes.md')).toMatchObject({ content: 'here' })
  await opened.close()
  const storeId = `memstore_${'0'.repeat(26)}`
  const other = openDefaultStore(variables, { storeId })
  await expect(other).rejects.toMatchObject({ code: 'store_id_mismatch' })
})
