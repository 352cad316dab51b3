// A reader's project: gitlocket as it is packed, with one generation of the SDK, and programs that
// run there in separate processes against a scripted Messages API.

import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MessagesApi } from '../support/messages-api.ts'

export const root: string = fileURLToPath(new URL('../..', import.meta.url))

export const sdks: readonly (readonly [generation: string, directory: string])[] = [
  ['0.x', 'anthropic-sdk-0'],
  ['1.x', '@anthropic-ai/sdk'],
]

/** The files of the package are copied; what it depends on are links. */
export function installPackage(sdk: string | undefined, project: string): void {
  const modules = join(project, 'node_modules')
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  mkdirSync(join(modules, 'gitlocket'), { recursive: true })
  cpSync(join(root, 'package.json'), join(modules, 'gitlocket', 'package.json'))
  for (const folder of ['src/bin', 'dist']) {
    cpSync(join(root, folder), join(modules, 'gitlocket', folder), { recursive: true })
  }
  if (sdk !== undefined)
    link(join(root, 'node_modules', sdk), join(modules, '@anthropic-ai', 'sdk'))
  for (const name of [...dependenciesOf(manifest), '@types/node']) {
    link(join(root, 'node_modules', name), join(modules, name))
  }
}

/** The command that the package installs. */
export function commandOf(project: string): string {
  return join(project, 'node_modules', 'gitlocket', 'src', 'bin', 'gitlocket.cjs')
}

/** The errors of the compiler for a program in JavaScript; empty if it has no errors. */
export function typeErrorsOf(project: string, program: string): string {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = ['--allowJs', '--checkJs', '--noEmit', '--strict', '--skipLibCheck']
  const types = ['--types', 'node', '--module', 'nodenext', '--target', 'es2023']
  const args = [tsc, ...options, ...types, program]
  return spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' }).stdout
}

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The API answers from this process, so the program must not block it. */
export function run(
  project: string,
  program: string,
  api: MessagesApi,
  args: readonly string[] = ['Write it down'],
  input = '',
): Promise<Finished> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: project,
    env: {
      PATH: process.env['PATH'],
      HOME: project,
      AGENT_HOME: join(project, 'home'),
      ANTHROPIC_API_KEY: 'sk-local',
      ANTHROPIC_BASE_URL: api.url,
    },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path)
}

function dependenciesOf(manifest: unknown): string[] {
  const isManifest = typeof manifest === 'object' && manifest !== null && 'dependencies' in manifest
  return isManifest ? Object.keys(Object(manifest.dependencies)) : []
}
