// Bundles TypeScript for runtimes without Node. Each port of src/platform is replaced by the file
// of the same name in src/web/platform, and the files that need a disk or a process by an empty one
// (web-ports.mjs).
//
// web.js fetches libsodium's WebAssembly next to it, as a browser can; workerd.js imports it as a
// module, since Workers compile no bytes. web-sodium.mjs takes out what no store calls.

import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { webFileOf } from './web-ports.mjs'
import { sodiumModule } from './web-sodium.mjs'

const source = fileURLToPath(new URL('../src', import.meta.url))

/** How each kind of runtime gets the WebAssembly. */
const kinds = {
  web: {
    imports: '',
    compile: `async () => {
      const url = new URL('./libsodium.wasm', import.meta.url)
      const response = await fetch(url).catch(() => undefined)
      if (response?.ok) return WebAssembly.compile(await response.arrayBuffer())
      throw new Error(url + ' could not be fetched: serve it next to the other files of gitlocket')
    }`,
  },
  workerd: { imports: `import wasm from './libsodium.wasm'`, compile: '() => wasm' },
}

/** `begin` starts libsodium: Workers allow no randomness while modules load. */
const entryOf = ({ imports, compile }, code) => `
  ${imports}
  import { startSodium } from '${join(source, 'web/platform/sodium.ts')}'
  const compile = ${compile}
  const instantiate = async (imports) => {
    const { exports } = await WebAssembly.instantiate(await compile(), imports)
    return exports
  }
  const begin = () => startSodium(instantiate)
  ${code}`

const pluginFor = (code) => ({
  name: 'web',
  resolveId(specifier, importer) {
    if (specifier in kinds) return `\0${specifier}`
    if (specifier === './libsodium.wasm') return { id: specifier, external: true }
    if (importer === undefined || !specifier.startsWith('.')) return null
    const file = webFileOf(relative(source, resolve(dirname(importer), specifier)))
    return file === undefined ? null : join(source, file)
  },
  load(id) {
    if (!id.startsWith('\0')) return null
    const kind = kinds[id.slice(1)]
    return kind === undefined ? null : entryOf(kind, code)
  },
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'libsodium.wasm', source: sodiumModule() })
  },
})

/** Writes web.js and workerd.js of a module whose code may call `begin`. Returns the sources. */
export async function bundleForWeb(code, directory) {
  const bundle = await rolldown({
    input: Object.fromEntries(Object.keys(kinds).map((name) => [name, name])),
    platform: 'browser',
    external: /^node:|^libsodium-wrappers-sumo$/,
    resolve: { mainFields: ['browser', 'module', 'main'] },
    plugins: [pluginFor(code)],
    onwarn({ code: kind, message }) {
      // The second is about the time on a busy machine.
      if (!['INEFFECTIVE_DYNAMIC_IMPORT', 'PLUGIN_TIMINGS'].includes(kind)) throw new Error(message)
    },
  })
  const { output } = await bundle.write({
    dir: directory,
    format: 'esm',
    minify: true,
    comments: false,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
  })
  await bundle.close()
  return output.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => !id.startsWith('\0'))
}
