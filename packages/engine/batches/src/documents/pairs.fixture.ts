/** An OID that `hstore` may have. */
export const hstoreOid = 16_400

/** Reads a document in the binary form of `hstore`, by what Postgres's `hstore_recv` accepts. */
export function valuesIn(document: Buffer): Record<string, string | null> {
  let at = 0
  const length = () => {
    at += 4
    return document.readInt32BE(at - 4)
  }
  const text = (bytes: number) => {
    at += bytes
    return document.toString('utf8', at - bytes, at)
  }
  const pairs = length()
  const values = Array.from({ length: pairs }, () => {
    const key = text(length())
    const bytes = length()
    return [key, bytes === -1 ? null : text(bytes)] as const
  })
  if (at !== document.length) throw new Error(`the document ends at ${document.length}, and its pairs at ${at}`)
  return Object.fromEntries(values)
}
