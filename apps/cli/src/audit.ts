import { userInfo } from 'node:os'
import { type AuditEvent, audited } from '@sluice/audit-log'
import type { Database } from '@sluice/database'
import { withDatabase } from './stack.ts'

/** Returns the actor of this command for the audit log: the user of the operating system. */
export function cliUser(): AuditEvent['who'] {
  try {
    return { type: 'cli', name: userInfo().username }
  } catch {
    // Containers may run under a user without a name.
    return { type: 'cli', name: `user ${process.getuid?.() ?? 'unknown'}` }
  }
}

/** Returns who runs this command, as pages show it. */
export function requester(): string {
  return `${cliUser().name} (command line)`
}

/** Runs a command that changes something, and records it in the audit log. Otherwise like {@link withDatabase}. */
export async function withAudit<Result>(
  event: Omit<AuditEvent, 'who'>,
  work: (db: Database) => Promise<Result>,
  describe?: Parameters<typeof audited<Result>>[3],
  url?: string,
): Promise<Result> {
  return await withDatabase((db) => audited(db, { ...event, who: cliUser() }, () => work(db), describe), url)
}
