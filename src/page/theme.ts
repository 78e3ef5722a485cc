// A separate blocking script, so that the page is never painted in the wrong theme.
try {
  const chosen = localStorage.getItem('forumd.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen
} catch {
  // Without storage the system theme applies.
}
