// Lines of a stream as they come. What is longer than allowed is read to its end and not kept.

const NEWLINE = 0x0a

/** Each line without its end; undefined for one of more bytes. An empty rest is no line. */
export async function* readLines(
  input: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array | undefined, void> {
  let parts: Uint8Array[] = []
  let length = 0
  const take = (part: Uint8Array): void => {
    length += part.length
    if (length <= bytesMax) parts.push(part)
    else parts = []
  }
  const line = (): Uint8Array | undefined => {
    const whole = length <= bytesMax ? Buffer.concat(parts) : undefined
    parts = []
    length = 0
    return whole
  }
  for await (const chunk of input) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, end))
      from = end + 1
      yield line()
    }
    take(chunk.subarray(from))
  }
  if (length > 0) yield line()
}
