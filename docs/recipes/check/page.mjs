// Opens the page of the recipe in Chromium, with a store that `gitlocket serve --web-git` serves, a
// key for it and a grant of a reader, and checks what the page shows, and what the model was told.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { end, gitlocket, makePlace, printed, start } from './place.mjs'
import { calls, resultsOf, startModel } from './scripted-model.mjs'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const question = 'What do you know?'
const answer = 'A lighthouse, and nothing was changed.'
const model = await startModel([
  calls('memory', {
    look: { command: 'view', path: '/memories' },
    read: { command: 'view', path: '/memories/notes.md' },
    write: { command: 'create', path: '/memories/b.md', file_text: 'x' },
  }),
  answer,
])

// The page, the package next to it, and the model are of one origin, as behind a proxy.
const place = makePlace('page')
const web = fileURLToPath(new URL('.', import.meta.resolve('gitlocket/web')))
const types = { '.html': 'text/html', '.mjs': 'text/javascript', '.js': 'text/javascript' }
const site = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  if (pathname.startsWith('/v1/')) return pass(request, response)
  const [, inWeb] = /^\/gitlocket\/([\w.-]+)$/.exec(pathname) ?? []
  const own = pathname === '/' ? 'index.html' : pathname
  const file = inWeb ? join(web, inWeb) : join(place.cwd, own)
  try {
    const type = types[extname(file)] ?? 'application/wasm'
    const bytes = readFileSync(file)
    response.writeHead(200, { 'content-type': type }).end(bytes)
  } catch {
    response.writeHead(404).end()
  }
})
await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${site.address().port}`

async function pass(request, response) {
  const { authorization } = request.headers
  const answered = await fetch(model.url.replace('/v1', request.url), {
    method: request.method,
    headers: { authorization },
    body: Buffer.concat(await request.toArray()),
  })
  response.writeHead(answered.status, { 'content-type': 'application/json' })
  response.end(await answered.text())
}

const remote = join(place.home, 'remote.git')
execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', remote])
const program = fileURLToPath(new URL('../src/bin/gitlocket.cjs', import.meta.resolve('gitlocket')))
const server = start(place, [program, 'serve', '--port', '0', '--web-git', '--web-origin', origin])
const [, url] = await printed(server, /Serving on (\S+)/)
const { stdout: made } = await gitlocket(place, ['store', 'create', 'notes', '--json'])
const { id } = JSON.parse(made)
const directory = join(place.home, '.local/share/gitlocket/server/stores', id)
const inStore = (...words) => gitlocket(place, ['--store', directory, ...words])
await inStore('create', 'notes.md', '--text', 'a lighthouse')
await inStore('remote', 'add', 'origin', remote)
const [grant] = /GLKG1-\S+/.exec((await inStore('grant', 'give', '--role', 'reader')).stdout)
const key = JSON.parse(
  (await gitlocket(place, ['api-key', 'create', '--web-git', 'notes', '--json'])).stdout,
)

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage()
const problems = []
page.on('pageerror', ({ message }) => problems.push(message))
await page.goto(origin)
const fields = { address: `${url}/git/${id}.git`, key: key.token, grant }
const all = { ...fields, model: `${origin}/v1`, modelKey: 'sk-local', question }
for (const [name, value] of Object.entries(all)) await page.fill(`[name=${name}]`, value)
const shown = () => page.locator('pre')
await page.click('button')
await page.waitForFunction(() => !['', '…'].includes(document.querySelector('pre').textContent))
assert.deepEqual([await shown().textContent(), problems], [answer, []])

assert.deepEqual(model.refusals, [])
const told = resultsOf(model.requests[1])
assert.match(told.look, /notes\.md/)
assert.match(told.read, /a lighthouse/)
assert.match(told.write, /read.only/i)

await gitlocket(place, ['api-key', 'revoke', key.id])
await page.click('button')
await page.waitForFunction(() => /credentials/.test(document.querySelector('pre').textContent))

await browser.close()
await end(server)
site.close()
model.close()
