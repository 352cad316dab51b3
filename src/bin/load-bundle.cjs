// Starts the bundle of the command line, dist/command, with what V8 has compiled of it before, as
// Python does with its .pyc files: a command leaves the code of the files that it has loaded in
// dist/command/cache, and later ones load it from there. It lies with the program and nowhere else:
// anyone who can change it can change the program too. Must never fail a command.

'use strict'

const { createHash } = require('node:crypto')
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')

const bundle = path.join(__dirname, '..', '..', 'dist', 'command')
const directory = path.join(bundle, 'cache')
const hashBytes = 32
/** By their names in the bundle. */
const modules = new Map()
/** What the cache lacks: the script and its source, by the file that it is to have. */
const uncached = new Map()

exports.start = () => {
  // Node.js reads the source maps of what it loads itself, only.
  if (process.sourceMapsEnabled || process.env.NODE_DISABLE_COMPILE_CACHE) {
    require(path.join(bundle, 'main.cjs'))
    return
  }
  // Code fits the flags that it was made with, so only what fits most processes is kept.
  if (process.execArgv.length === 0 && !process.env.NODE_OPTIONS) process.on('exit', keep)
  load('main.cjs')
}

function load(name) {
  const loaded = modules.get(name)
  if (loaded !== undefined) return loaded.exports
  const module = { exports: {} }
  modules.set(name, module)
  const filename = path.join(bundle, name)
  const inBundle = (id) => (id.startsWith('./') ? load(id.slice(2)) : require(id))
  compile(name, filename)(module.exports, inBundle, module, filename, bundle)
  return module.exports
}

/** The function that Node.js makes of a CommonJS module. */
function compile(name, filename) {
  const parameters = 'exports, require, module, __filename, __dirname'
  const source = `(function (${parameters}) {${readFileSync(filename, 'utf8')}\n})`
  const file = path.join(directory, `${name}-${process.version}-${process.arch}`)
  const cachedData = findCode(file, source)
  const script = new vm.Script(source, { filename, cachedData })
  if (cachedData === undefined) uncached.set(file, { script, source })
  return script.runInThisContext()
}

/** V8 itself would accept damaged code, and that of another source as long. */
function findCode(file, source) {
  try {
    const stored = readFileSync(file)
    const code = stored.subarray(hashBytes)
    return hashOf(source, code).equals(stored.subarray(0, hashBytes)) ? code : undefined
  } catch {
    return undefined
  }
}

function keep() {
  if (uncached.size === 0) return
  try {
    // Whatever the umask, nobody else may write there.
    mkdirSync(directory, { recursive: true, mode: 0o755 })
    for (const [file, { script, source }] of uncached) {
      const code = script.createCachedData()
      const unfinished = `${file}.${process.pid}`
      writeFileSync(unfinished, Buffer.concat([hashOf(source, code), code]), { mode: 0o644 })
      renameSync(unfinished, file)
    }
  } catch {
    // Others may have installed the program, or the disk is full.
  }
}

function hashOf(source, code) {
  return createHash('sha256').update(source).update(code).digest()
}
