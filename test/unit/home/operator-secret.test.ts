import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSodium } from '../../../src/crypto/sodium.ts'
import { ensureOperatorSecret } from '../../../src/home/identity-file.ts'
import { parseOperatorSecret } from '../../../src/keys/identity.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

await loadSodium()

test('an operator secret is made once, next to the identity, for its owner alone', async () => {
  const home = join(temporaryDirectory(), 'config')
  const place = { identityFile: join(home, 'identity') }
  const made = await ensureOperatorSecret(place)
  expect(made).toMatchObject({ path: join(home, 'operator-secret'), isNew: true })
  expect(() => parseOperatorSecret(made.operatorSecret)).not.toThrow()
  expect(statSync(made.path).mode & 0o777).toBe(0o600)
  expect(await ensureOperatorSecret(place)).toEqual({ ...made, isNew: false })
  expect(readdirSync(home)).toEqual(['operator-secret'])
})

test('a file with any other content is refused and left unchanged', async () => {
  const home = temporaryDirectory()
  const path = join(home, 'operator-secret')
  writeFileSync(path, 'GLKO1-typo\n', { mode: 0o600 })
  const found = ensureOperatorSecret({ identityFile: join(home, 'identity') })
  await expect(found).rejects.toMatchObject({ code: 'invalid_identity' })
  expect(readFileSync(path, 'utf8')).toBe('GLKO1-typo\n')
})

test('a file that others can open is refused, as the identity file is', async () => {
  const place = { identityFile: join(temporaryDirectory(), 'identity') }
  const { path } = await ensureOperatorSecret(place)
  chmodSync(path, 0o640)
  await expect(ensureOperatorSecret(place)).rejects.toMatchObject({
    code: 'invalid_identity',
    message: /operator secret \(mode 640\).*chmod 600/,
  })
})
