import * as model from '@aws-sdk/client-s3'

/**
 * Returns the conditional headers of all operations in the installed SDK's model of S3, in lower case and sorted.
 *
 * They include the separate headers for the source of a copy or a renaming, and for the start of an upload.
 */
export function conditionalHeaders(): string[] {
  const names = Object.values(model).flatMap((schema) => (isStructure(schema) ? headersOf(schema) : []))
  return [...new Set(names)].filter((name) => /(?:^|-)if-/.test(name)).sort()
}

/**
 * Returns the `x-amz-` headers of an operation's request in the installed SDK's model of S3, in lower case and sorted.
 */
export function headersOfOperation(name: string): string[] {
  const found = Object.values(model).find((schema) => isOperation(schema) && schema[2] === name)
  const input = isOperation(found) ? found[4]() : undefined
  if (!isStructure(input)) throw new Error(`the model of S3 has no operation ${name}`)
  return headersOf(input)
    .filter((header) => header.startsWith('x-amz-'))
    .sort()
}

/** An operation in the SDK's schemas. Its name is at index 2, its input at index 4. */
type Operation = readonly [9, string, string, unknown, () => unknown, ...unknown[]]

function isOperation(schema: unknown): schema is Operation {
  return Array.isArray(schema) && schema[0] === 9 && typeof schema[4] === 'function'
}

/** A structure in the SDK's schemas. The names of its members are at index 4, their types and traits at index 5. */
type Structure = readonly [3, string, string, unknown, readonly string[], readonly unknown[], ...unknown[]]

function isStructure(schema: unknown): schema is Structure {
  return Array.isArray(schema) && schema[0] === 3 && Array.isArray(schema[4]) && Array.isArray(schema[5])
}

function headersOf([, , , , , types]: Structure): string[] {
  return types.flatMap((type) => {
    const traits: unknown = Array.isArray(type) ? type[1] : undefined
    if (typeof traits !== 'object' || traits === null || !('httpHeader' in traits)) return []
    return [String(traits.httpHeader).toLowerCase()]
  })
}
