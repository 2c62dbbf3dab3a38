# The site has all pages in one folder: links that leave one folder for another become shorter.
s#\]\(\.\./\.\./\{\{cookiecutter\.project_slug\}\}/docs/#](../#g
s#\]\((\.\./)?(\{\{cookiecutter\.project_slug\}\}/)?docs/#](#g
s#\]\(\.\./README\.md[^)]*\)#](tutorial.md\#9-use-a-real-model)#g
s#(src|srcset)="docs/#\1="#g
