// Canaries, secret texts that must not be found on disk, and the encodings to search for: plain,
// base64 at each of its three alignments, hex, UTF-16. Pure.

/** A secret text and where it was put. */
export interface Canary {
  readonly place: string
  readonly text: string
}

export interface Needle {
  readonly canary: Canary
  readonly encoding: string
  readonly bytes: Buffer
}

/** The bytes to search for. `text` should be too long to occur by chance, say 12 characters. */
export function needlesOf(canary: Canary): readonly Needle[] {
  const plain = Buffer.from(canary.text)
  const utf16 = Buffer.from(canary.text, 'utf16le')
  const hex = plain.toString('hex')
  const forms: readonly (readonly [encoding: string, bytes: Buffer])[] = [
    ['plain', plain],
    ['UTF-16LE', utf16],
    ['UTF-16BE', Buffer.from(utf16).swap16()],
    ['hex', Buffer.from(hex)],
    ['upper-case hex', Buffer.from(hex.toUpperCase())],
    ...[0, 1, 2].map((offset) => [`base64+${offset}`, base64At(plain, offset)] as const),
  ]
  return forms.map(([encoding, bytes]) => ({ canary, encoding, bytes }))
}

/** The characters of base64 that depend on `plain` alone where it begins at `offset` modulo 3. */
function base64At(plain: Buffer, offset: number): Buffer {
  const text = Buffer.concat([Buffer.alloc(offset), plain]).toString('base64')
  const first = Math.ceil((offset * 8) / 6)
  const last = Math.floor(((offset + plain.length) * 8) / 6)
  return Buffer.from(text.slice(first, last))
}

export interface Hit {
  readonly place: string
  readonly encoding: string
  /** The file, object or message that holds it. */
  readonly where: string
}

/** Counts what it has searched, so that `nothing found` can be trusted. */
export class CanarySearch {
  readonly hits: Hit[] = []
  #files = 0
  #objects = 0
  #texts = 0
  #bytes = 0
  readonly #needles: readonly Needle[]

  constructor(canaries: readonly Canary[]) {
    this.#needles = canaries.flatMap(needlesOf)
  }

  get counts(): Readonly<Record<'files' | 'objects' | 'texts' | 'bytes', number>> {
    const [files, objects, texts, bytes] = [this.#files, this.#objects, this.#texts, this.#bytes]
    return { files, objects, texts, bytes }
  }

  file(name: string, bytes: Buffer): void {
    this.#files += 1
    this.#search(`the name of ${name}`, Buffer.from(name))
    this.#search(name, bytes)
  }

  object(name: string, bytes: Buffer): void {
    this.#objects += 1
    this.#search(name, bytes)
    // Armor breaks base64 into lines, and a header's later lines begin with a space.
    this.#search(name, Buffer.from(bytes.toString('latin1').replaceAll(/\n ?/g, ''), 'latin1'))
  }

  text(name: string, text: string): void {
    this.#texts += 1
    this.#search(name, Buffer.from(text))
  }

  #search(where: string, bytes: Buffer): void {
    this.#bytes += bytes.length
    for (const { canary, encoding, bytes: needle } of this.#needles) {
      if (bytes.includes(needle)) this.hits.push({ place: canary.place, encoding, where })
    }
  }
}
