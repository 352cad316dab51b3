// What the host of a remote sees of the store: stock git on the closed repository. If git or
// ssh-keygen is missing, one line says what was left out.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Erasure } from './incident.ts'
import type { Place } from './place.ts'
import { ask, git, showGit, showGitRefusing } from './programs.ts'
import { heading, isFull, print, printBlock, style } from './screen.ts'

/** `signers`: the output of `store.allowedSigners()`, with which git checks signatures. */
export function showHostView(place: Place, signers: string, erasure: Erasure): void {
  heading('What the host of a remote sees: stock git on the same store, without a key')
  const version = ask('git', '--version')
  if (version === undefined) {
    print('Left out: git is not installed')
    return
  }
  const obstacle = signatureObstacle(version)
  if (obstacle === undefined) showSignatures(place, signers)
  else print(`Left out: \`git log --show-signature\` needs ${obstacle}`)
  showGit(place, ['ls-tree', '-r', '--long', 'main'], { full: 9, short: 2 })
  showSealed(place)
  showErased(place, erasure)
  showGit(place, ['fsck', '--strict'], { full: 5, short: 0 })
}

/** git checks SSH signatures with ssh-keygen since 2.34. */
function signatureObstacle(version: string): string | undefined {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(version) ?? []
  if (Number(major) * 1000 + Number(minor) < 2034) return 'git 2.34 or newer'
  return ask('ssh-keygen', '-?') === undefined ? 'ssh-keygen, which is not installed' : undefined
}

/** The signers' keys are public; git resolves the file's name from the store. */
function showSignatures(place: Place, signers: string): void {
  writeFileSync(join(place.root, 'allowed_signers'), signers)
  const setting = ['-c', 'gpg.ssh.allowedSignersFile=../allowed_signers']
  showGit(place, [...setting, 'log', '--show-signature', '-1', 'main'], { full: 13, short: 0 })
  const output = git(place, [...setting, 'log', '--format=%G?', 'main']).toString()
  const marks = output.trim().split('\n')
  const bad = marks.filter((mark) => mark !== 'G').length
  if (bad > 0) throw new Error(`git does not accept the signatures of ${bad} commits`)
  const accepted = `git accepts the signature of each of the ${marks.length} commits.`
  if (!isFull) return print(accepted)
  print(`\n${accepted} Author and date`)
  print('are the same in every store: the date only counts commits.')
}

/** The first bytes of one memory. */
function showSealed(place: Place): void {
  const path = git(place, ['ls-tree', '-r', '--name-only', 'main', 'm/']).toString().split('\n')[0]
  const args = ['cat-file', 'blob', `main:${path}`]
  const bytes = git(place, args)
  print(style('bold', `${isFull ? '\n' : ''}$ git ${args.join(' ')}`))
  printBlock(hexDump(bytes.subarray(0, isFull ? 80 : 16)), { indent: 2 })
  if (isFull) print(style('dim', `  … ${bytes.length} bytes: a short header, then ciphertext`))
}

/** Checks that git has neither the commit with the key nor any other erased object. */
function showErased(place: Place, { commit, objectIds }: Erasure): void {
  showGitRefusing(place, ['cat-file', '-t', commit], { full: 1, short: 0 })
  const answer = git(place, ['cat-file', '--batch-check'], `${objectIds.join('\n')}\n`).toString()
  const kept = answer
    .trim()
    .split('\n')
    .filter((line) => !line.endsWith(' missing'))
  if (kept.length > 0) throw new Error(`git still has ${kept.length} objects that were erased`)
  const erased = `git has none of the ${objectIds.length} objects that the certificate names.`
  if (!isFull) return print(erased)
  print(`\nThat commit added the key. ${erased}`)
  print('A host or a clone that has them keeps them until it takes over this history and forgets')
  print('the old one: send the certificate to its operator.')
}

function hexDump(bytes: Uint8Array): string {
  const rows = Array.from({ length: Math.ceil(bytes.length / 16) }, (_, row) =>
    bytes.subarray(row * 16, row * 16 + 16),
  )
  return rows.map((row, index) => `${offsetOf(index)}  ${hexOf(row)}  ${asciiOf(row)}`).join('\n')
}

function offsetOf(row: number): string {
  return (row * 16).toString(16).padStart(8, '0')
}

function hexOf(row: Uint8Array): string {
  return Array.from(row, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
}

function asciiOf(row: Uint8Array): string {
  return Array.from(row, (byte) =>
    byte >= 0x20 && byte < 0x7f ? String.fromCodePoint(byte) : '.',
  ).join('')
}
