import { clearMarkerProblem, limits, parseProfileTypes } from '@sluice/contract'
import type { Database } from '@sluice/database'
import type { GivenOptions } from '@sluice/imports'
import { requireTypes, TypeConflict } from '@sluice/profiles'
import { readHoldIf } from './hold-if-fields.ts'
import { readKeepChanges } from './keep-changes-field.ts'

/**
 * Reads the options of an import from the form's fields: `clear_marker`, `keep_changes`, the bounds above which it is
 * held, and `profile_types` as JSON, which the script of the page adds. Returns the problem in words if an option is
 * refused.
 */
export async function readOptions(
  db: Database,
  appId: number,
  form: URLSearchParams,
): Promise<{ options: GivenOptions } | { problem: string }> {
  const marker = form.get('clear_marker') ?? ''
  const markerProblem = marker === '' ? undefined : clearMarkerProblem(marker)
  if (markerProblem !== undefined) return { problem: `The text that removes a value ${markerProblem}.` }
  const held = readHoldIf(form)
  if ('problem' in held) return held
  const parsed = parseProfileTypes(parseJson(form.get('profile_types') ?? ''))
  if ('messages' in parsed) return { problem: parsed.messages.join(', ') }
  try {
    await requireTypes(db, appId, parsed.value)
  } catch (error) {
    if (error instanceof TypeConflict) return { problem: `A chosen type is refused: ${error.message}.` }
    throw error
  }
  const keepChanges = readKeepChanges(form)
  const clearMarker = marker === '' ? null : marker
  return { options: { profileTypes: parsed.value, clearMarker, keepChanges, ...held } }
}

/** Maximum number of bytes of the field `profile_types`. */
export const longestTypesField = limits.jsonBytes

/** Returns the parsed text; the text itself if it is not JSON, so that the check of the types refuses it. */
function parseJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}
