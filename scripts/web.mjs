// A step of `npm run build`: bundles src/web/web.ts with all that it needs into dist/web, for
// runtimes without Node. Each port of src/platform is replaced by the file of the same name in
// src/web/platform, and the files that need a disk or a process by an empty one (web-ports.mjs).
//
// web.js fetches libsodium's WebAssembly next to it, as a browser can; workerd.js imports it as a
// module, since Workers compile no bytes. web-sodium.mjs takes out what no store calls.

import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { licenceTexts } from './licences.mjs'
import { webFileOf } from './web-ports.mjs'
import { libsodium, sodiumModule } from './web-sodium.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, 'dist', 'web')
const source = join(root, 'src')

/** The first `openRemote` begins libsodium: Workers allow no randomness while modules load. */
const entry = (imports, compile) => `
  ${imports}
  import { startSodium } from '${join(source, 'web/platform/sodium.ts')}'
  import { openRemote as open } from '${join(source, 'web/web.ts')}'
  export * from '${join(source, 'web/web.ts')}'
  const compile = ${compile}
  const instantiate = async (imports) => {
    const { exports } = await WebAssembly.instantiate(await compile(), imports)
    return exports
  }
  export const openRemote = async (options) => {
    await startSodium(instantiate)
    return open(options)
  }`

const entries = {
  web: entry(
    '',
    `async () => {
      const url = new URL('./libsodium.wasm', import.meta.url)
      const response = await fetch(url).catch(() => undefined)
      if (response?.ok) return WebAssembly.compile(await response.arrayBuffer())
      throw new Error(url + ' could not be fetched: serve it next to the other files of gitlocket')
    }`,
  ),
  workerd: entry(`import wasm from './libsodium.wasm'`, '() => wasm'),
}

const web = {
  name: 'web',
  resolveId(specifier, importer) {
    if (specifier in entries) return `\0${specifier}`
    if (specifier === './libsodium.wasm') return { id: specifier, external: true }
    if (importer === undefined || !specifier.startsWith('.')) return null
    const file = webFileOf(relative(source, resolve(dirname(importer), specifier)))
    return file === undefined ? null : join(source, file)
  },
  load(id) {
    if (!id.startsWith('\0')) return null
    return entries[id.slice(1)] ?? null
  },
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'libsodium.wasm', source: sodiumModule() })
  },
}

// The compiler's modules: only their declarations are used.
for (const name of readdirSync(output, { recursive: true })) {
  if (/\.(?:js|wasm)$/.test(name)) rmSync(join(output, name))
}
const bundle = await rolldown({
  input: Object.fromEntries(Object.keys(entries).map((name) => [name, name])),
  platform: 'browser',
  external: /^node:|^libsodium-wrappers-sumo$/,
  resolve: { mainFields: ['browser', 'module', 'main'] },
  plugins: [web],
  onwarn({ code, message }) {
    // The second is about the time on a busy machine.
    if (!['INEFFECTIVE_DYNAMIC_IMPORT', 'PLUGIN_TIMINGS'].includes(code)) throw new Error(message)
  },
})
const { output: written } = await bundle.write({
  dir: output,
  format: 'esm',
  minify: true,
  comments: false,
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
})
await bundle.close()
const bundled = written
  .flatMap(({ moduleIds = [] }) => moduleIds)
  .filter((id) => !id.startsWith('\0'))
writeFileSync(join(output, 'LICENSES.txt'), licenceTexts([...bundled, libsodium]))
