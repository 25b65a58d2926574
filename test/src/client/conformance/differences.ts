/**
 * Returns how a value differs from an expected one, one line for each difference. Of an object, only the expected
 * members are compared. A regular expression must match.
 *
 * `place` names the value in the lines.
 */
export function differences(actual: unknown, expected: unknown, place: string): string[] {
  if (expected instanceof RegExp) {
    return typeof actual === 'string' && expected.test(actual) ? [] : [`${place} is ${shown(actual)}, not ${expected}`]
  }
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null) {
    return Object.is(actual, expected) ? [] : [`${place} is ${shown(actual)}, not ${shown(expected)}`]
  }
  if (Array.isArray(expected) && (!Array.isArray(actual) || actual.length !== expected.length))
    return [`${place} is ${shown(actual)}, not ${shown(expected)}`]
  const members = actual as Readonly<Record<string, unknown>>
  const wrong = Object.entries(expected).flatMap(([name, each]) => differences(members[name], each, `${place}.${name}`))
  return wrong.length > 0 && place === 'outcome' ? [...wrong, `the outcome is ${shown(actual)}`] : wrong
}

const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 800) ?? 'undefined'
