import { readSettings } from '@sluice/config'
import { connect } from '@sluice/database'
import { runService } from '@sluice/service'
import { openStorage, storageSettings } from '@sluice/storage'
import { buildApi } from './api.ts'

await runService('api', async (log) => {
  const settings = readSettings(process.env, [
    ...storageSettings,
    'API_HOST',
    'API_PORT',
    'API_URL',
    'DATABASE_POOL',
    'DATABASE_URL',
  ])
  const onError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  const database = connect(settings.DATABASE_URL, { connections: settings.DATABASE_POOL, onError })
  const storage = openStorage(settings)
  const api = buildApi({ db: database.db, storage, apiUrl: settings.API_URL, log })
  const url = await api.listen({ host: settings.API_HOST, port: settings.API_PORT })
  return {
    info: { url },
    async stop() {
      await api.close()
      storage.close()
      await database.close()
    },
  }
})
