import type { ImportChanges } from '@sluice/contract'

/**
 * Returns the counts of what rows change as facts of a mail, without counts of 0 (changes.md §1, Elsewhere). A mail
 * without counts has no such facts.
 */
export function changeFacts(changes: ImportChanges | undefined): Record<string, string> {
  if (changes === undefined) return {}
  const { rows, values } = changes
  const facts = {
    'Users with first values': rows.created,
    'Other rows with changes': rows.changed,
    'Values added': values.added,
    'Values changed': values.changed,
    'Values removed': values.removed,
  }
  const shown = Object.entries(facts).filter(([, number]) => number > 0)
  return Object.fromEntries(shown.map(([name, number]) => [name, number.toLocaleString('en-US')]))
}
