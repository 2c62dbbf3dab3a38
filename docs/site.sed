# The site has all pages in one folder: links that leave one folder for another become shorter.
s#\]\((\.\./)?(engine/agui/manual|docs)/#](#g
s#(src|srcset)="docs/#\1="#g
