import * as model from '@aws-sdk/client-s3'

/** The elements by which DeleteObjects names an object; all others are preconditions. */
const NAMING = new Set(['Key', 'VersionId'])

/**
 * Returns the conditional headers of all operations in the installed SDK's model of S3, in lower case and sorted.
 *
 * The copy's and the renamed object's source, and an upload's start, have conditional headers of their own.
 */
export function conditionalHeaders(): string[] {
  const names = Object.values(model).flatMap((schema) => (isStructure(schema) ? headersOf(schema) : []))
  return [...new Set(names)].filter((name) => /(?:^|-)if-/.test(name)).sort()
}

/** Returns the elements of an object in DeleteObjects that are preconditions, in the installed SDK's model of S3. */
export function conditionalElements(): string[] {
  const [, , , , members] = model.ObjectIdentifier$
  return members.filter((name) => !NAMING.has(name))
}

/** A structure of the SDK's schemas: the names of its members stand at 4, their types and traits at 5. */
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
