// On an old Node.js, the command and `npm start` name the version that they need in one sentence.

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { cleanEnvironment, temporaryDirectory } from '../support/temporary.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const command = `node ${join(root, manifest.bin.gitlocket)} --version`

/** Runs a shell command with a `node` that reports this version. */
function runWith(version: string, words: string) {
  const directory = temporaryDirectory()
  const disguise = join(directory, 'disguise.cjs')
  const versions = `{ ...process.versions, node: '${version}' }`
  writeFileSync(disguise, `Object.defineProperty(process, 'versions', { value: ${versions} })\n`)
  const env = { ...cleanEnvironment(directory), NODE_OPTIONS: `--require ${disguise}` }
  return spawnSync('/bin/sh', ['-c', words], { cwd: root, encoding: 'utf8', env })
}

describe('with an old Node.js', () => {
  test.each([
    ['the command', '0.10.48', command],
    ['the command', '20.18.3', command],
    ['npm start', '18.20.8', manifest.scripts.start],
  ])('%s says under %s in one sentence what it needs', (_, version, words) => {
    const { status, stdout, stderr } = runWith(version, words)
    expect([status, stdout]).toEqual([1, ''])
    const sentence = `gitlocket needs Node.js 20.19 or newer, and this is ${version} (`
    expect(stderr.startsWith(sentence)).toBe(true)
    expect(stderr).toMatch(/^[^\n]+\)\n$/)
  })

  test.each(['20.19.0', '22.0.0'])('the command runs under %s', (version) => {
    const { status, stdout, stderr } = runWith(version, command)
    expect([status, stdout, stderr]).toEqual([0, `gitlocket ${manifest.version}\n`, ''])
  })

  // Lowering it to ES5 changes nothing, except for a trailing comma in a call, which ES5 lacks.
  test.each(['gitlocket', 'check-node'])('src/bin/%s.cjs is read by every Node.js', (name) => {
    const source = readFileSync(join(root, `src/bin/${name}.cjs`), 'utf8')
    const as = (target: string): string => transformSync(source, { target }).code
    expect(as('es5')).toBe(as('esnext'))
    expect(source).not.toMatch(/,\s*\)/)
  })
})
