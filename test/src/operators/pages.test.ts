import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSampleApp } from '../dashboard/sample-app.ts'
import { openOperator, openTestDashboard, type TestDashboard } from '../dashboard/test-dashboard.ts'
import { signIn } from '../dashboard/visitor.ts'

let dashboard: TestDashboard
let appId: number
beforeAll(async () => {
  dashboard = await openTestDashboard()
  await openOperator(dashboard)
  ;({ appId } = await openSampleApp(dashboard, 'Corner shop', 'anna@example.com'))
})
afterAll(async () => await dashboard.close())

describe('pausing', () => {
  test('an operator pauses and resumes an app with a button; its members see that imports are paused', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    const member = await signIn(dashboard, 'anna@example.com')
    const address = `/apps/${appId}/operation`
    expect((await operator.get(address)).text).toContain('The imports of this app run.')
    expect((await operator.post(`${address}/pause`, {}, address)).status).toBe(303)
    expect((await operator.get(address)).text).toContain('The imports of this app are paused')
    expect((await operator.get('/queues')).text).toContain('The imports of 1 app are paused.')
    expect((await member.get(`/apps/${appId}/imports`)).text).toContain('Imports are paused.')
    expect((await operator.post(`${address}/resume`, {}, address)).status).toBe(303)
    expect((await member.get(`/apps/${appId}/imports`)).text).not.toContain('Imports are paused.')
  })

  test('an operator pauses and resumes all apps on the page of queues', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    expect((await operator.post('/queues/pause', {}, '/queues')).status).toBe(303)
    expect((await operator.get('/queues')).text).toContain('The imports of all apps are paused')
    expect((await operator.get(`/apps/${appId}/operation`)).text).toContain('all apps')
    expect((await operator.post('/queues/resume', {}, '/queues')).status).toBe(303)
    expect((await operator.get('/queues')).text).not.toContain('The imports of all apps are paused')
  })

  test('members find neither the pages nor the buttons of operators', async () => {
    const member = await signIn(dashboard, 'anna@example.com')
    const home = `/apps/${appId}/imports`
    expect((await member.get(home)).text).not.toContain('/operation')
    expect((await member.get(`/apps/${appId}/operation`)).status).toBe(404)
    for (const path of [`/apps/${appId}/operation/pause`, '/queues/pause', '/queues/resume']) {
      expect([path, (await member.post(path, {}, home)).status]).toEqual([path, 404])
    }
    expect(await dashboard.db.selectFrom('service_pause').selectAll().execute()).toEqual([])
  })
})
