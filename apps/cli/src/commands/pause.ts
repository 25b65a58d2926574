import { requireApp } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { pauseImports, resumeImports } from '@sluice/imports'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { parseAppId } from '../stack.ts'

const effects = {
  pause: 'running imports are released after their current batch; requests and uploads are accepted',
  resume: 'workers continue within a second',
} as const

/** Completes `sluice pause` or `sluice resume`. */
export function addPauseCommand(all: Command): void {
  const action = all.name() === 'pause' ? 'pause' : 'resume'
  all.action(async () => {
    const changed = await withAudit(
      { appId: undefined, what: `service.${action}` },
      (db) => change(db, action, undefined),
      (isChange) => ({ outcome: outcomeOf(isChange) }),
    )
    print(all, { paused: action === 'pause', changed }, () => describe('The imports of all apps', action, changed))
  })
}

/** Adds `sluice apps pause` and `sluice apps resume`. */
export function addAppPauseCommands(apps: Command): void {
  for (const action of ['pause', 'resume'] as const) {
    const one = apps
      .command(action)
      .description(`${action} the imports of an app; ${effects[action]}`)
      .requiredOption('--app <id>', 'ID of the app', parseAppId)
      .action(async ({ app: appId }: { app: number }) => {
        const changed = await withAudit(
          { appId, what: `app.${action}` },
          async (db) => {
            await requireApp(db, appId)
            return await change(db, action, appId)
          },
          (isChange) => ({ outcome: outcomeOf(isChange) }),
        )
        print(one, { app_id: appId, paused: action === 'pause', changed }, () =>
          describe(`The imports of app ${appId}`, action, changed),
        )
      })
  }
}

type Action = keyof typeof effects

function change(db: Parameters<typeof pauseImports>[0], action: Action, appId: number | undefined): Promise<boolean> {
  return action === 'pause' ? pauseImports(db, appId) : resumeImports(db, appId)
}

function describe(subject: string, action: Action, changed: boolean): string {
  if (!changed) return action === 'pause' ? `${subject} were paused already.` : `${subject} were not paused.`
  return action === 'pause' ? `${subject} are paused.` : `${subject} continue.`
}
