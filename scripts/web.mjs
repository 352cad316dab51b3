// A step of `npm run build`: bundles src/web/web.ts with all that it needs into dist/web, for
// runtimes without Node. Each port of src/platform is replaced by the file of the same name in
// src/web/platform, and the files that need a disk or a process by an empty one (web-ports.mjs).
//
// web.js fetches libsodium's WebAssembly next to it, as a browser can; workerd.js imports it as a
// module, since Workers compile no bytes.

import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { licenceTexts } from './licences.mjs'
import { webFileOf } from './web-ports.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, 'dist', 'web')
const source = join(root, 'src')
const slot = 'virtual:web-assembly'

/** The first `openRemote` begins libsodium: Workers allow no randomness while modules load. */
const entry = (imports, compile) => `
  ${imports}
  import { provide } from '${slot}'
  import { openRemote as open } from '${join(source, 'web/web.ts')}'
  export * from '${join(source, 'web/web.ts')}'
  const compile = ${compile}
  let module
  export const openRemote = async (options) => {
    module ??= await compile()
    provide(module)
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

/** Where libsodium waits for its WebAssembly. */
const slotModule = `
  let provide
  const provided = new Promise((resolve) => { provide = resolve })
  export { provide }
  export const instantiateWasm = async (imports, done) => {
    const module = await provided
    done(await WebAssembly.instantiate(module, imports), module)
  }`

const web = {
  name: 'web',
  resolveId(specifier, importer) {
    if (specifier in entries || specifier === slot) return `\0${specifier}`
    if (specifier === './libsodium.wasm') return { id: specifier, external: true }
    if (importer === undefined || !specifier.startsWith('.')) return null
    const file = webFileOf(relative(source, resolve(dirname(importer), specifier)))
    return file === undefined ? null : join(source, file)
  },
  load(id) {
    if (!id.startsWith('\0')) return null
    return id.slice(1) === slot ? slotModule : (entries[id.slice(1)] ?? null)
  },
  transform: {
    filter: { id: /\/libsodium\.mjs$/ },
    handler(code, id) {
      const [literal, base64] = code.match(/"(AGFzbQ[\w+/=]+)"/) ?? []
      const [ending, factory] = code.match(/export default (\w+);\s*$/) ?? []
      if (base64 === undefined || factory === undefined) throw new Error(`${id} has changed`)
      const bytes = Buffer.from(base64, 'base64')
      this.emitFile({ type: 'asset', fileName: 'libsodium.wasm', source: bytes })
      const reading = `
        import { instantiateWasm } from '${slot}'
        export default (options) => ${factory}({ ...options, instantiateWasm })`
      return { code: code.replace(literal, '""').replace(ending, reading), map: { mappings: '' } }
    },
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
writeFileSync(join(output, 'LICENSES.txt'), licenceTexts(bundled))
