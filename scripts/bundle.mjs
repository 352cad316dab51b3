// A step of `npm run build`: bundles the command line, with its worker threads, into dist/command,
// which src/bin/load-bundle.cjs starts: loading two hundred modules takes longer than most commands
// do. The library is not bundled: dist/ has a module for each file of src/.
//
// The bundle is CommonJS, which Node.js loads faster, and keeps all names. Node.js reads its source
// maps only with --enable-source-maps; then a stack names places in src/.

import { rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { licenceTexts } from './licences.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, 'dist', 'command')

/** What is started by itself: the command, and its threads, as `findWorker` names them. */
const threads = [
  'crypto/argon2-worker.ts',
  'crypto/seal-worker.ts',
  'git/maintenance/pack-job-worker.ts',
  'store/verify/verify-worker.ts',
].map(sourceFile)
const entries = [sourceFile('cli/main.ts'), sourceFile('cli/program.ts'), ...threads]

/**
 * The large files of the bundle, by the modules for which they exist. Each has what those import,
 * less what an earlier one has, so that it needs no later one: a command loads the files up to its
 * own. Whatever only other commands need is in a file for each set of them that shares it.
 */
const layers = {
  program: ['cli/program.ts'],
  packing: ['git/maintenance/pack-job-worker.ts'],
  verifying: ['store/verify/verify-worker.ts'],
  read: [
    'cli/commands/read.ts',
    'cli/text/device-text.ts',
    'store/history/history-diff.ts',
    'store/history/timeline.ts',
    'store/open.ts',
  ],
  table: ['cli/text/table.ts'],
  write: ['cli/commands/write.ts', 'store/guard/find-secrets.ts'],
  patch: ['cli/text/patch-text.ts'],
  search: ['store/search/search.ts'],
  sync: [
    'cli/commands/init.ts',
    'cli/commands/sharing/join.ts',
    'cli/commands/sharing/sync.ts',
    'store/sync/rounds.ts',
    'store/sync/sync.ts',
    'transport/process-wire.ts',
  ],
  audit: [
    'operations/merges.ts',
    'operations/report-csv.ts',
    'store/audit/audit.ts',
    'store/audit/trail.ts',
    'store/audit/verify-certificate.ts',
    'store/report/audit-report.ts',
    'store/report/member-report.ts',
  ],
  hosting: ['cli/store/server.ts'],
  tool: ['cli/commands/tool.ts'],
  serve: [
    'console/console.ts',
    'hosting/host.ts',
    'mcp/mcp.ts',
    'operations/console/subject.ts',
    'server/serve-host.ts',
  ],
}

/** libsodium with its WebAssembly in a file: smaller than base64, and nothing has to decode it. */
const webAssembly = {
  name: 'web-assembly',
  transform: {
    filter: { id: /\/libsodium(?:-sumo)?\.mjs$/ },
    handler(code, id) {
      const [literal, base64] = code.match(/"(AGFzbQ[\w+/=]+)"/) ?? []
      const [ending, factory] = code.match(/export default (\w+);\s*$/) ?? []
      if (base64 === undefined || factory === undefined) throw new Error(`${id} has changed`)
      const fileName = basename(id, '.mjs') + '.wasm'
      this.emitFile({ type: 'asset', fileName, source: Buffer.from(base64, 'base64') })
      const reading = `
        import { readFileSync } from 'node:fs'
        const instantiateWasm = (imports, done) => {
          const file = new URL('./${fileName}', import.meta.url)
          const module = new WebAssembly.Module(readFileSync(file))
          done(new WebAssembly.Instance(module, imports), module)
        }
        export default (options) => ${factory}({ ...options, instantiateWasm })`
      // No map: all of it is one line of the original.
      return { code: code.replace(literal, '""').replace(ending, reading), map: { mappings: '' } }
    },
  },
}

rmSync(output, { recursive: true, force: true })
const bundle = await rolldown({
  input: Object.fromEntries(entries.map((file) => [basename(file, '.ts'), file])),
  platform: 'node',
  // An optional peer: whoever has a database installs it.
  external: ['pg'],
  // What has no `exports`, jsonc-parser for one, has its modules there.
  resolve: { mainFields: ['module', 'main'] },
  plugins: [webAssembly],
  preserveEntrySignatures: 'allow-extension',
  onwarn({ code, message }) {
    // A module that one file loads late and another one at once: so it is in the modules too.
    if (code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(message)
  },
})
const { output: written } = await bundle.write({
  dir: output,
  format: 'cjs',
  // Code from a cache can only `require` (src/bin/load-bundle.cjs).
  dynamicImportInCjs: false,
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  sourcemap: true,
  sourcemapExcludeSources: true,
  comments: false,
  codeSplitting: {
    // Else a layer would take what an earlier one has.
    includeDependenciesRecursively: false,
    groups: [
      { name: 'libsodium', test: /\/libsodium(?:-wrappers)?\//, priority: 3 },
      { name: 'libsodium-sumo', test: /\/libsodium.*-sumo\/|\/argon2\.ts$/, priority: 3 },
      { name: layerNames(), debugName: 'layers', priority: 2 },
    ],
  },
})
await bundle.close()
const bundled = written.flatMap(({ moduleIds = [] }) => moduleIds)
writeFileSync(join(output, 'LICENSES.txt'), licenceTexts(bundled))

function sourceFile(name) {
  return join(root, 'src', name)
}

/** A function that gives the layer of a module, or null. */
function layerNames() {
  const names = new Map()
  return (id, context) => {
    if (names.size === 0) fillLayers(names, (module) => context.getModuleInfo(module)?.importedIds)
    return names.get(id) ?? null
  }
}

function fillLayers(names, importsOf) {
  for (const [layer, modules] of Object.entries(layers)) {
    const visit = (id) => {
      if (names.has(id)) return
      // A thread stays apart: what loads its imports must not start its work.
      names.set(id, threads.includes(id) ? null : layer)
      for (const imported of importsOf(id) ?? []) visit(imported)
    }
    for (const module of modules) visit(sourceFile(module))
  }
}
