// Starts Swagger UI from this site, configured to send requests to no other site.
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()

globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#playground',
  validatorUrl: null,
  queryConfigEnabled: false,
  deepLinking: false,
  // A separate page lists the fields of the models.
  defaultModelsExpandDepth: -1,
  docExpansion: 'list',
  // The OpenAPI document contains the public address of the ledger. Requests go to the site that is open.
  requestInterceptor(request) {
    const { pathname, search } = new URL(request.url, location.origin)
    request.url = `${location.origin}${pathname}${search}`
    return request
  },
})
