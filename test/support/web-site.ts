// A web page with the bundle of `gitlocket/web`, and what a browser asks for it.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import type { Fault } from './git-server.ts'
import { patience } from './patience.ts'
import { listening } from './proxy.ts'

const built = fileURLToPath(new URL('../../dist/web/', import.meta.url))

/** Serves a page, and the files of a bundle below /gitlocket/, each of which is noted. */
export function pageWith(
  bundle: string = built,
  note: (name: string, bytes: Uint8Array) => void = () => undefined,
): Fault {
  return ({ url = '' }, response) => {
    if (url === '/') {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>')
      return true
    }
    if (url === '/favicon.ico') {
      response.writeHead(204).end()
      return true
    }
    const [, name] = /^\/gitlocket\/([\w.-]+)$/.exec(url) ?? []
    if (name === undefined) return false
    const bytes = readFileSync(`${bundle}/${name}`)
    note(name, bytes)
    const type = name.endsWith('.js') ? 'text/javascript' : 'application/wasm'
    response.writeHead(200, { 'content-type': type }).end(bytes)
    return true
  }
}

/** A site of its own with that page. Returns its origin, until the test ends. */
export async function startSite(bundle?: string): Promise<string> {
  const serve = pageWith(bundle)
  const server = createServer((request, response) => {
    if (serve(request, response) !== true) response.writeHead(404).end()
  })
  return `http://${(await listening(server)).at}`
}

export interface OpenPage {
  readonly page: Page
  /** Errors that the page did not catch. */
  readonly problems: readonly string[]
}

/** A page in a context of its own; closed when the test ends. */
export async function openPage(browser: Browser, address: string): Promise<OpenPage> {
  const context = await browser.newContext()
  context.setDefaultTimeout(patience.timeout)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  await page.goto(address)
  return { page, problems }
}
