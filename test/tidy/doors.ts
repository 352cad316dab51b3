// The doors of folders: the files that others may import, so that the rest of a folder can change
// without anybody else. A folder of src/ that has no row is open: all its files are doors. The
// library's face (src/index.ts) may name the types of any file.

import { importsOf, resolveImport } from './layers.ts'
import { type SourceFile, type Violation, violation } from './source.ts'

/** Below src/, without `.ts`. The one of `git` is for what lies outside git/ as a whole. */
const doors: Readonly<Record<string, readonly string[]>> = {
  git: [
    'disk-store/disk-object-store',
    'disk-store/head-trace',
    'disk-store/outgoing-pack',
    'disk-store/repository-copy',
    'exchange',
    'journal/journal-survey',
    'memory-store/memory-object-store',
    'object-store',
    'objects/object',
    'objects/oid-list',
    'pack/hashed-objects',
    'pack/pack-set',
    'pack/packer',
    'refs/branch',
    'refs/remotes',
    'refs/repository',
    'refs/tracking-ref',
    'repair/repair-site',
    'repair/repository-survey',
    'replica/base',
    'replica/replica-repository',
    'replica/replicated-store',
    'replica/shared-log',
  ],
  'store/commits': [
    'ancestors',
    'ancestry',
    'author',
    'commit',
    'commit-context',
    'commit-count',
    'content-guard',
    'count-leading',
    'decoded-commit',
    'divergence',
    'frontier',
    'new-rows',
    'outgoing',
  ],
  'store/guard': ['guard'],
  'store/history': [
    'beginning-entry',
    'blame',
    'catch-up',
    'conflicts',
    'contents',
    'doubtful-times',
    'history',
    'history-diff',
    'history-rows',
    'history-table',
    'known-commit',
    'past',
    'points',
    'record-times',
    'read-consistently',
    'state-at',
    'timeline',
    'version-inputs',
    'versions',
  ],
  'store/local': [
    'anchor',
    'grant-notes',
    'history-cache',
    'local-files',
    'own-files',
    'reads',
    'sealed-cache',
    'sealed-log',
    'remote-state-file',
    'state-cache',
  ],
  'store/merge': ['content-merge', 'merge-input', 'placement', 'plan'],
  'store/redaction': [
    'acknowledgement',
    'certificate',
    'certificate-check',
    'certificate-text',
    'past-redactions',
    'redaction',
    'redaction-plan',
    'residue',
    'rewrite',
    'built-on',
  ],
  'store/repair': ['repair', 'report'],
  'store/revert': ['restore', 'revert', 'revert-plan', 'undo'],
  'store/search': ['query-words', 'regex-turns', 'search', 'search-query', 'snippet'],
  'store/session': [
    'doubt-scope',
    'freshness',
    'finish-anew',
    'granted',
    'objects-of',
    'one-state',
    'open-options',
    'open-session',
    'session',
    'shown-age',
    'steady-head',
    'store-id',
    'writer',
    'writer-clock',
  ],
  'store/clone': [
    'clone-remote',
    'fetch-into',
    'staged-clone',
    'bound-address',
    'fetch-all',
    'mend-start',
    'remote-address',
    'start-clone',
    'start-fetch',
  ],
  'store/sync': [
    'refusals',
    'refused-head',
    'remote-head',
    'remote-state',
    'report',
    'sync',
    'take-back',
  ],
  'store/verify': [
    'beginning',
    'checked-commit',
    'context-free-check',
    'snapshot-at',
    'verdict',
    'verify',
    'verify-rewritten',
  ],
  transport: ['client-wire', 'fetch', 'push', 'remote-access', 'remote-url', 'upload-pack'],
}

export function doorLaw(file: SourceFile): Violation[] {
  if (!file.path.startsWith('src/') || file.path === 'src/index.ts') return []
  return importsOf(file).flatMap((found) => {
    if (!found.specifier.startsWith('.')) return []
    const target = resolveImport(file, found.specifier)
    return Object.entries(doors).flatMap(([folder, files]) => {
      const inside = `src/${folder}/`
      if (!target.startsWith(inside) || file.path.startsWith(inside)) return []
      const name = target.slice(inside.length).replace(/\.ts$/, '')
      if (files.includes(name)) return []
      return violation(file, found.offset, `${name} is no door of ${folder} (test/tidy/doors.ts)`)
    })
  })
}

/** Doors that do not exist, or that no other room uses: each must have a reason. */
export function idleDoors(files: readonly SourceFile[]): readonly string[] {
  const used = new Set(
    files.flatMap((file) =>
      importsOf(file).map(({ specifier }) => {
        return `${file.path} ${specifier.startsWith('.') ? resolveImport(file, specifier) : ''}`
      }),
    ),
  )
  const isUsed = (folder: string, name: string): boolean =>
    [...used].some((pair) => {
      const [from = '', to] = pair.split(' ')
      return to === `src/${folder}/${name}.ts` && !from.startsWith(`src/${folder}/`)
    })
  return Object.entries(doors).flatMap(([folder, names]) =>
    names.filter((name) => !isUsed(folder, name)).map((name) => `${folder}/${name}`),
  )
}
