// Opens an address in the browser of the user's desktop, if there is one.

import { spawn } from 'node:child_process'

/** What opens an address, by platform; another one is taken for a desktop of freedesktop.org. */
const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  // `start` of the shell would read the address as commands.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Never fails: the address is printed, too. */
export function openBrowser(address: string): void {
  const [program = '', ...first] = openers[process.platform] ?? ['xdg-open']
  const opened = spawn(program, [...first, address], { stdio: 'ignore', detached: true })
  opened.on('error', () => undefined)
  opened.unref()
}
