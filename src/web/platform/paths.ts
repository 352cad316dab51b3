// Names of files in RAM, which are absolute paths with slashes.

export function basename(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function dirname(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')))
}

export function resolve(...parts: readonly string[]): string {
  return parts.join('/')
}
