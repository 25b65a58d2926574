export { type AddressRule, openAddressRule } from './addresses.ts'
export { type Deliverer, type DeliveryOutcome, delivererSettings, openDeliverer } from './deliver.ts'
export { findDelivery, listDeliveries, sendAgain, type WebhookDelivery } from './deliveries.ts'
export {
  addEndpoint,
  EndpointRefused,
  enableEndpoint,
  listEndpoints,
  reencryptEndpointSecrets,
  removeEndpoint,
  removeEndpointsOfApp,
  rotateSecret,
  type WebhookEndpoint,
} from './endpoints.ts'
export { clearRemovedEndpoints, forgetFileNames, removeOldDeliveries } from './history.ts'
export {
  type DeliveryId,
  dueDeliveries,
  enqueueEvent,
  enqueueTest,
  isEventChosen,
  webhookBacklog,
} from './outbox.ts'
export { type LookUp, openLookUp } from './resolve.ts'
export { checkUrl, type UrlRule } from './url.ts'
