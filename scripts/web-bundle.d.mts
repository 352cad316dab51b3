/**
 * Writes web.js, workerd.js and their WebAssembly into a directory: a module for runtimes without
 * Node, whose code may call `begin` to start libsodium. Returns the paths of its sources.
 */
export function bundleForWeb(code: string, directory: string): Promise<readonly string[]>
