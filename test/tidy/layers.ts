// The laws of dependency: which layer may import which, and which folder may import which package
// or name the platform's ambient state. Imports go down only (docs/ARCHITECTURE.md), and only the
// shells (cli, tour) reach the environment, the terminal and the clock.

import { type SourceFile, type Violation, violation } from './source.ts'

/** Files of src/ itself that everybody may import. */
const base: ReadonlySet<string> = new Set([
  'errors',
  'async',
  'limits',
  'bytes',
  'cache-budget',
  'clock',
  'duration',
  'fair-queue',
  'page',
  'plain-input',
  'time-slice',
  'worker-threads',
])

/** The folders of src/, each of which may import from those before it alone, types included. */
const order: readonly string[] = [
  'platform',
  'base',
  'crypto',
  'format',
  'keys',
  'disk',
  'git/objects',
  'git',
  'git/refs',
  'git/pack',
  'git/journal',
  'git/purge',
  'git/maintenance',
  'git/repair',
  'git/disk-store',
  'git/memory-store',
  'git/replica',
  'transport',
  'text',
  'store/tables',
  'store/snapshot',
  'store/commits',
  'store/access',
  'store/history',
  'store/guard',
  'store/local',
  'store/verify',
  'store/session',
  'store/changes',
  'store/revert',
  'store/redaction',
  'store/devices',
  'store/grants',
  'store/merge',
  'store/clone',
  'store/sync',
  'store/audit',
  'store/report',
  'store/repair',
  'store/search',
  'store',
  'home',
  'hosting',
  'engine',
  'index',
  'operations',
  'memory-tool',
  'anthropic',
  'web',
  'mcp',
  'server',
  'console',
  'cli/call',
  'cli/terminal',
  'cli/machine',
  'cli/text',
  'cli/store',
  'cli',
  'tour',
]

const every: readonly string[] = [...new Set(order.map((room) => room.replace(/\/.*/, '')))]

/**
 * What a layer, a folder of src/ with all that is in it, may import: less than the order allows.
 * Its own folder, the base and the platform are always allowed. A row for every folder of src/.
 */
const layers: Readonly<Record<string, readonly string[]>> = {
  platform: [],
  base: [],
  crypto: [],
  format: ['crypto'],
  keys: ['crypto', 'format'],
  disk: ['crypto'],
  git: ['disk', 'crypto'],
  transport: ['git', 'disk', 'crypto'],
  text: [],
  store: ['text', 'transport', 'keys', 'git', 'disk', 'format', 'crypto'],
  operations: ['hosting', 'store', 'text', 'format', 'keys'],
  'memory-tool': ['operations', 'hosting', 'store', 'text'],
  anthropic: ['memory-tool', 'operations', 'store'],
  web: ['anthropic', 'store', 'transport', 'keys', 'git', 'disk', 'crypto'],
  mcp: ['memory-tool', 'operations', 'hosting', 'store', 'crypto'],
  server: ['memory-tool', 'operations', 'hosting', 'crypto'],
  console: ['server', 'operations', 'store', 'text', 'format', 'crypto'],
  home: ['store', 'keys', 'crypto'],
  engine: ['hosting', 'store', 'keys', 'git', 'disk', 'format', 'crypto'],
  hosting: ['home', 'store', 'transport', 'keys', 'git', 'disk', 'format', 'crypto'],
  index: ['home', 'store', 'transport', 'keys', 'git', 'disk', 'format', 'crypto'],
  cli: every,
  tour: every,
}

/** Narrower than the table above: from the layer, only these files of the other. */
const narrow: Readonly<Record<string, readonly string[]>> = {
  'git crypto': ['src/crypto/digest.ts', 'src/crypto/random.ts', 'src/crypto/sha1.ts'],
}

/** The page of the console, which runs in a browser. */
const page = 'src/console/client/'
const pageFiles = 'src/console/page-files.ts'

/**
 * The importers that a package may have: layers, or the beginning of paths. A package without a row
 * is refused.
 */
const packages: Readonly<Record<string, readonly string[]>> = {
  '@codemirror/commands': [page],
  '@codemirror/language': [page],
  '@codemirror/merge': [page],
  '@codemirror/search': [page],
  '@codemirror/state': [page],
  '@codemirror/view': [page],
  '@lezer/highlight': [page],
  '@lezer/markdown': [page],
  '@preact/signals': [page],
  '@anthropic-ai/sdk': ['anthropic'],
  '@hono/node-server': ['server'],
  '@modelcontextprotocol/server': ['mcp'],
  '@scure/bip39': ['src/format/fingerprint.ts'],
  'jsonc-parser': ['src/cli/setup/json-text.ts'],
  'smol-toml': ['src/cli/setup/toml-text.ts'],
  chokidar: ['src/cli/mirror/watching.ts'],
  diff: ['cli', 'src/text/line-matches.ts', page],
  dompurify: [page],
  'fast-string-truncated-width': ['src/cli/text/table.ts'],
  hono: ['server'],
  '@noble/hashes': ['web'],
  'isomorphic-git': ['web'],
  pako: ['web'],
  marked: [page],
  'prom-client': ['src/server/metrics.ts'],
  preact: [page],
  'preact-iso': [page],
  'libsodium-wrappers': ['crypto'],
  'libsodium-wrappers-sumo': ['crypto'],
  'node:buffer': ['home', 'cli'],
  'node:child_process': ['cli', 'tour', 'transport'],
  'node:crypto': ['platform'],
  'node:events': ['store', 'server', 'cli'],
  'node:fs': [
    'disk',
    'git',
    'home',
    'cli',
    'tour',
    'src/platform/threads.ts',
    'src/transport/git-settings.ts',
    pageFiles,
  ],
  'node:http': ['server', 'transport'],
  'node:https': ['server', 'transport'],
  'node:net': ['src/disk/life-socket.ts', 'src/transport/proxy.ts'],
  'node:os': ['home', 'cli', 'tour', 'src/platform/threads.ts'],
  'node:path': ['platform', 'disk', 'git', 'home', 'hosting', 'cli', 'tour'],
  'node:process': [
    'cli',
    'tour',
    'src/disk/foreign-owner.ts',
    'src/disk/process-owner.ts',
    'src/hosting/store-pool.ts',
    'src/platform/threads.ts',
    'src/transport/process-wire.ts',
  ],
  'node:readline': ['cli'],
  'node:stream': ['git', 'transport', 'mcp', 'cli'],
  'node:tls': ['transport', 'src/engine/pool.ts'],
  'node:timers': ['platform', 'cli', 'src/mcp/feed.ts', 'tour', 'src/hosting/audit-export.ts'],
  'node:tty': ['cli'],
  'node:url': ['cli', 'tour', 'src/worker-threads.ts'],
  'node:util': ['disk', 'cli', 'tour'],
  'node:worker_threads': ['platform', 'src/store/verify/verify-worker.ts'],
  'node:zlib': ['platform', 'git', 'src/transport/upload-pack.ts'],
  'node-diff3': ['text'],
  pg: ['src/engine/pool.ts'],
  minisearch: ['src/store/search/term-index.ts'],
  zod: ['operations', 'platform'],
}

interface Ambient {
  readonly pattern: RegExp
  readonly right: string
  /** Layers or paths that may, in addition to cli and tour. */
  readonly allowed: readonly string[]
}

const ambient: readonly Ambient[] = [
  {
    pattern: /\bprocess\s*[.[]/g,
    right: 'only cli/ reads the process',
    allowed: ['src/home/open-default-store.ts', 'src/home/identity-file.ts'],
  },
  { pattern: /\bconsole\s*\.\w/g, right: 'the library never prints', allowed: [] },
  {
    pattern: /\bDate\.now\b|\bnew Date\(\)/g,
    right: 'the clock is passed in',
    allowed: ['src/clock.ts', page],
  },
  { pattern: /\bMath\.random\b/g, right: 'randomness is passed in', allowed: [] },
  {
    pattern: /(?<![.\w/])crypto\.|\bgetRandomValues\b|\brandomUUID\b/g,
    right: 'randomness and hashes come from crypto/',
    allowed: ['crypto', 'src/web/platform/crypto.ts'],
  },
]

/** `crypto` of src/crypto/aead.ts; `index` and `base` of the files of src/ itself. */
function layerOf(path: string): string {
  const [, folder = '', ...rest] = path.split('/')
  if (rest.length > 0) return folder
  const name = folder.replace(/\.ts$/, '')
  return base.has(name) ? 'base' : name
}

/** Its place in `order`: `git/pack` of src/git/pack/delta.ts, `cli` of src/cli/doctor/repair.ts. */
function roomOf(path: string): string {
  const folders = path.split('/').slice(1, 3)
  const room = folders.join('/')
  return order.includes(room) ? room : layerOf(path)
}

export interface Import {
  readonly specifier: string
  readonly offset: number
  readonly typeOnly: boolean
  readonly dynamic: boolean
}

const importPatterns: readonly RegExp[] = [
  /\b(?<start>import|export)(?<type>\s+type\b)?[^'"`;]*?\bfrom\s*['"](?<specifier>[^'"]+)['"]/g,
  /\b(?<start>import)\s*['"](?<specifier>[^'"]+)['"]/g,
  /\b(?<start>import\s*\()\s*['"`](?<specifier>[^'"`]+)['"`]/g,
]

export function importsOf(file: SourceFile): Import[] {
  return importPatterns.flatMap((pattern) =>
    [...file.uncommented.matchAll(pattern)]
      // What looks like an import inside a string is blank in `bare`.
      .filter((match) => file.bare.startsWith('port', match.index + 2))
      .map((match) => ({
        specifier: match.groups?.['specifier'] ?? '',
        offset: match.index,
        typeOnly: match.groups?.['type'] !== undefined,
        dynamic: match.groups?.['start']?.endsWith('(') ?? false,
      })),
  )
}

/** The path that a relative import means. */
export function resolveImport({ path }: SourceFile, specifier: string): string {
  return new URL(specifier, `file:///${path}`).pathname.slice(1)
}

/** Imports go down only, and each package has its place. */
export function layerLaw(file: SourceFile): Violation[] {
  if (!file.path.startsWith('src/')) return []
  const layer = layerOf(file.path)
  const allowed = layers[layer]
  if (allowed === undefined) return [`${file.path}:1: give ${layer} a row in test/tidy/layers.ts`]
  return importsOf(file).flatMap((found) => {
    const problem = found.specifier.startsWith('.')
      ? relativeProblem(file, layer, allowed, found.specifier)
      : packageProblem(file, layer, found)
    return problem === undefined ? [] : [violation(file, found.offset, problem)]
  })
}

function relativeProblem(
  file: SourceFile,
  layer: string,
  allowed: readonly string[],
  specifier: string,
): string | undefined {
  const target = resolveImport(file, specifier)
  if (!target.startsWith('src/')) return 'src/ imports nothing outside src/'
  const other = layerOf(target)
  if (other === 'base' && layer !== 'platform') return undefined
  const isOwn = other === layer
  if (!isOwn && ![...allowed, 'platform'].includes(other)) {
    return `${layer} may not import ${other}`
  }
  const [room, otherRoom] = [roomOf(file.path), roomOf(target)]
  if (order.indexOf(otherRoom) > order.indexOf(room)) {
    return `${otherRoom} comes after ${room}: it may not be imported`
  }
  const files = narrow[`${layer} ${other}`]
  if (files === undefined || files.includes(target)) return undefined
  return `of ${other}, ${layer} may import ${files.join(', ')} only`
}

function packageProblem(file: SourceFile, layer: string, found: Import): string | undefined {
  const name = packageName(found.specifier)
  const allowed = packages[name]
  if (allowed === undefined) return `give ${name} a row in test/tidy/layers.ts`
  if (!isAllowed(file, layer, allowed)) return `${layer} may not import ${name}`
  if (name === '@anthropic-ai/sdk' && !found.typeOnly && !found.dynamic) {
    return `import ${name} as type only: it is an optional peer`
  }
  return undefined
}

/** `node:fs` of node:fs/promises, `@anthropic-ai/sdk` of @anthropic-ai/sdk/helpers/beta/memory. */
function packageName(specifier: string): string {
  const parts = specifier.split('/')
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
}

function isAllowed(file: SourceFile, layer: string, allowed: readonly string[]): boolean {
  return allowed.some((where) => where === layer || file.path.startsWith(where))
}

/** Files that import each other, however far around, types included: those of each circle. */
export function findCircles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const imports = new Map(
    files.map((file) => {
      const targets = importsOf(file).map(({ specifier }) => resolveImport(file, specifier))
      return [file.path, targets] as const
    }),
  )
  const reachableFrom = (start: string): ReadonlySet<string> => {
    const reached = new Set<string>()
    const pending = [...(imports.get(start) ?? [])]
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (reached.has(next)) continue
      reached.add(next)
      pending.push(...(imports.get(next) ?? []))
    }
    return reached
  }
  const reachable = new Map(files.map(({ path }) => [path, reachableFrom(path)] as const))
  const circles = new Set<string>()
  for (const [path, reached] of reachable) {
    if (!reached.has(path)) continue
    const others = [...reached].filter((other) => reachable.get(other)?.has(path) === true)
    circles.add(others.toSorted().join('\n'))
  }
  return [...circles].map((circle) => circle.split('\n'))
}

/** Environment, terminal, clock and randomness come in through the shells or as arguments. */
export function ambientLaw(file: SourceFile): Violation[] {
  const layer = layerOf(file.path)
  if (!file.path.startsWith('src/') || layer === 'cli' || layer === 'tour') return []
  return ambient
    .filter((rule) => !isAllowed(file, layer, rule.allowed))
    .flatMap((rule) =>
      [...file.bare.matchAll(rule.pattern)].map((match) =>
        violation(file, match.index, rule.right),
      ),
    )
}

/** Only these files may mark bytes as safe to write into git. */
export function sealedLaw(file: SourceFile): Violation[] {
  const may = ['src/crypto/aead.ts', 'src/format/public-files.ts']
  if (!file.path.startsWith('src/') || may.includes(file.path)) return []
  return [...file.bare.matchAll(/\bas\s+(?:unknown\s+as\s+)?Sealed\b|<Sealed>\s*[\w(]/g)].map(
    (match) =>
      violation(
        file,
        match.index,
        'only crypto/aead.ts and format/public-files.ts make Sealed bytes',
      ),
  )
}
