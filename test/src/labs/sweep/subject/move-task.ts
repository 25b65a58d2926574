import { connect } from '@sluice/database'
import { moveApp } from '@sluice/moves'

/** Moves the only app to the cell whose database is SWEEP_TARGET, as `sluice apps move` does. */
export const moveTask = {
  name: 'move',
  async run(): Promise<void> {
    const { DATABASE_URL: throughProxy = '', SWEEP_SOURCE: sourceUrl = '', SWEEP_TARGET: targetUrl = '' } = process.env
    const options = { connections: 2, lockTimeoutMs: 300, process: 'move', onError: () => {} } as const
    const [source, target] = [connect(throughProxy, options), connect(targetUrl, options)]
    try {
      const { app_id: appId } = await source.db.selectFrom('apps').select('app_id').executeTakeFirstOrThrow()
      await moveApp(
        {
          appId,
          source: { cell: 0, url: sourceUrl, db: source.db },
          target: { cell: 1, url: targetUrl, db: target.db },
        },
        () => {},
      )
    } finally {
      await Promise.all([source.close(), target.close()])
    }
  },
}
